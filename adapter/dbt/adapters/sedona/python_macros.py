"""Python macros: typed functions in `macros/python/*.py`, of the project and of its installed packages, become SQL functions of
their name before the first statement.

    def shout(text: str) -> str: ...                        one call a row
    def shout(text: pd.Series) -> pd.Series: ...            one call an Arrow batch; add `@returns("string")`

The return type is read from the annotation (str, int, float, bool, bytes, datetime, date) or given, as Spark DDL, by the
decorator `returns`, which also admits structs and arrays. Names that begin with `_` stay private.

A function whose first parameter is called `spark` is no SQL function: Jinja calls it, with this thread's session, by
`adapter.call_python('name', argument=...)`.
"""

from __future__ import annotations

import datetime
import importlib.util
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import yaml
from dbt.adapters.sedona import functions
from dbt.adapters.sedona.errors import one_line
from dbt_common.exceptions import DbtRuntimeError

_DDL = {
    str: "string",
    int: "bigint",
    float: "double",
    bool: "boolean",
    bytes: "binary",
    datetime.datetime: "timestamp",
    datetime.date: "date",
}


def returns(ddl: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a Python macro its SQL return type, as Spark DDL: `@returns("struct<x: double, y: double>")`."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        function.returns = ddl  # type: ignore[attr-defined]  # the mark that return_type looks for
        return function

    return mark


# Functions that Jinja calls, by name, each with its file.
_called_by_jinja: dict[str, tuple[Path, Callable[..., Any]]] = {}


class Folders(NamedTuple):
    """Where Python macros are: in the project itself, and in the packages that it has installed."""

    own: tuple[Path, ...] = ()
    packages: tuple[Path, ...] = ()

    @classmethod
    def of_project(cls, root: Path, macro_paths: list[str], installed: str) -> Folders:
        packages = [
            file.parent / path / "python"
            for file in sorted((root / installed).glob("*/dbt_project.yml"))
            for path in yaml.safe_load(file.read_text()).get("macro-paths", ["macros"])
        ]
        return cls(tuple(root / path / "python" for path in macro_paths), tuple(packages))

    def files(self) -> list[Path]:
        return [*_files(self.packages), *_files(self.own)]


def register(spark: Any, folders: Folders) -> list[str]:
    """Registers every public function of every module; returns the SQL names. As with SQL macros, a function of the project
    takes the place of a package's function of the same name."""
    found = _functions_in(folders.packages) | _functions_in(folders.own)
    _called_by_jinja.clear()
    for name, (path, function) in found.items():
        if wants_session(function):
            _called_by_jinja[name] = (path, function)
        else:
            _register_one(spark, path, function)
    sql_names = found.keys() - _called_by_jinja.keys()
    functions.promote(spark, sql_names)
    return sorted(sql_names)


def _functions_in(folders: tuple[Path, ...]) -> dict[str, tuple[Path, Callable[..., Any]]]:
    found: dict[str, tuple[Path, Callable[..., Any]]] = {}
    for path in _files(folders):
        for function in public_functions(load(path)):
            name = function.__name__
            if name in found:
                raise DbtRuntimeError(
                    f"Python macro {name} is defined twice: in {found[name][0]} and in {path}"
                )
            found[name] = (path, function)
    return found


def _files(folders: tuple[Path, ...]) -> list[Path]:
    return sorted(path for folder in folders for path in folder.glob("*.py") if not path.name.startswith("_"))


def call(spark: Any, name: str, arguments: dict[str, Any]) -> Any:
    if name not in _called_by_jinja:
        raise DbtRuntimeError(
            f"call_python: no Python macro {name} has `spark` as its first parameter; "
            f"there are: {', '.join(_called_by_jinja) or 'none'}"
        )
    path, function = _called_by_jinja[name]
    try:
        return function(spark, **arguments)
    except Exception as error:
        # A project's own errors speak for themselves; of others, the line tells where to look.
        if type(error).__module__.startswith(("pyspark", "py4j", "builtins")):
            raise DbtRuntimeError(
                f"Python macro {name} in {path}{_line_in(path, error)}: {type(error).__name__}: {one_line(error)}"
            ) from error
        raise DbtRuntimeError(str(error)) from error


def wants_session(function: Callable[..., Any]) -> bool:
    return next(iter(inspect.signature(function).parameters), None) == "spark"


def load(path: Path) -> ModuleType:
    """Imports one file by path and keeps it out of sys.modules: what isn't there is pickled whole, so that workers, on a
    cluster too, need no access to the project's files."""
    spec = importlib.util.spec_from_file_location(f"dbt_python_macros_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DbtRuntimeError(f"Python macro file {path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        line = _line_in(path, error)
        raise DbtRuntimeError(
            f"Python macro file {path}{line} could not be loaded: {type(error).__name__}: {error}"
        ) from error
    return module


def public_functions(module: ModuleType) -> list[Callable[..., Any]]:
    own = (member for _, member in inspect.getmembers(module, inspect.isfunction))
    return [f for f in own if f.__module__ == module.__name__ and not f.__name__.startswith("_")]


def return_type(path: Path, function: Callable[..., Any]) -> str:
    if ddl := getattr(function, "returns", None):
        return str(ddl)
    hint = typing.get_type_hints(function).get("return")
    alternatives = [part for part in typing.get_args(hint) if part is not type(None)] or [hint]
    if len(alternatives) == 1 and alternatives[0] in _DDL:
        return _DDL[alternatives[0]]
    allowed = ", ".join(kind.__name__ for kind in _DDL)
    raise DbtRuntimeError(
        f"Python macro {function.__name__} in {path} needs a return type: annotate it with one of {allowed}, "
        f'or decorate it with @returns("<Spark type>"); it has {hint}'
    )


def is_vectorised(function: Callable[..., Any]) -> bool:
    """True if its parameters are pandas Series, so that it wants whole Arrow batches."""
    hints = typing.get_type_hints(function)
    kinds = [hints.get(name) for name in inspect.signature(function).parameters]
    return bool(kinds) and all(getattr(kind, "__name__", "") == "Series" for kind in kinds)


def _register_one(spark: Any, path: Path, function: Callable[..., Any]) -> None:
    from pyspark.sql.functions import pandas_udf, udf

    try:
        make = pandas_udf if is_vectorised(function) else udf
        spark.udf.register(function.__name__, make(function, return_type(path, function)))
    except DbtRuntimeError:
        raise
    except Exception as error:
        first = str(error).splitlines()[0]
        raise DbtRuntimeError(
            f"Python macro {function.__name__} in {path} could not be registered: {first}"
        ) from error


def _line_in(path: Path, error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f", line {line}" if line else ""
