"""What a model's rows are made by: its SQL, what of its config decides about rows, and the macros, Python functions and variables it uses."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import re
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# Of the config, what changes which rows the table holds. Properties, hooks, grants and layout do not.
_CONFIG = (
    "materialized",
    "incremental_strategy",
    "unique_key",
    "merge_update_columns",
    "merge_exclude_columns",
    "merge_delete_when",
    "merge_update_when",
    "partition_by",
    "file_format",
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_VARIABLE = re.compile(r"""\bvar\(\s*['"](\w+)['"]""")
_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+([^\n#]+)|import\s+([\w.]+))", re.MULTILINE)
# How a model asks what has changed in its inputs.
_NAMES_INPUTS = re.compile(r"adapter\.(read_input|is_as_noted)\(")
# How a macro says that the rows it gave to earlier runs can't be had again.
_ACCUMULATES = re.compile(r"adapter\.accumulates\(")


class ModelCode:
    """The code of one model, from its node and the project's macros."""

    def __init__(self, model: dict[str, Any], macros: Any, internal: Iterable[str]) -> None:
        self._model = model
        self._sql = str(model.get("raw_code") or "")
        self._macros = list(_used_macros(model, self._sql, macros.macros))
        self._internal = set(internal)

    @property
    def names_inputs(self) -> bool:
        return self._says(_NAMES_INPUTS)

    @property
    def accumulates(self) -> bool:
        """True if it appends what a macro gives only once. A merge ends in the same rows if all come again."""
        strategy = self._model["config"].get("incremental_strategy") or "append"
        return strategy == "append" and self._says(_ACCUMULATES)

    def _says(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(text) for text in (self._sql, *(macro.macro_sql for macro in self._macros)))

    @property
    def own_texts(self) -> list[str]:
        """dbt's and the adapters' own macros do not count: an upgrade is no reason to compute every table again."""
        return [self._sql] + [
            macro.macro_sql for macro in self._macros if macro.package_name not in self._internal
        ]

    @property
    def variables(self) -> list[str]:
        return sorted({name for text in self.own_texts for name in _VARIABLE.findall(text)})

    def digest(self, variables: dict[str, Any], facts: Any, python_files: Iterable[Path]) -> str:
        """Of a variable that is a mapping, only what the model names of it counts: another entity is no concern of this one."""
        words = set(_WORD.findall(self._sql))
        counted = {
            name: {key: value[key] for key in value if key in words} if isinstance(value, dict) else value
            for name, value in variables.items()
        }
        config = {name: self._model["config"].get(name) for name in _CONFIG}
        parts = [*self.own_texts, json.dumps([config, counted, facts], sort_keys=True, default=str)]
        used = {word for text in self.own_texts for word in _WORD.findall(text)}
        parts += python_texts(python_files, used)
        digest = hashlib.sha256()
        for part in parts:
            digest.update(hashlib.sha256(part.encode()).digest())
        return digest.hexdigest()


def _used_macros(model: dict[str, Any], sql: str, macros: dict[str, Any]) -> Iterable[Any]:
    """Those that the SQL names, and what they use in turn. dbt also counts what only hooks use."""
    words = set(_WORD.findall(sql))
    named = (macros[name] for name in model["depends_on"].get("macros", ()) if name in macros)
    waiting = [macro for macro in named if macro.name in words]
    found: dict[str, Any] = {}
    while waiting:
        macro = waiting.pop()
        if macro.unique_id not in found:
            found[macro.unique_id] = macro
            waiting += [macros[name] for name in macro.depends_on.macros if name in macros]
    return [found[name] for name in sorted(found)]


_sources: dict[tuple[Path, int], str] = {}


def python_texts(files: Iterable[Path], used: set[str]) -> list[str]:
    """The Python files that define one of the used names, and the modules that they import, one through another. Not those of installed
    packages: as with dbt's own, an upgrade is no reason to compute every table again."""
    found: dict[Path, str] = {}
    waiting = [
        path for path in sorted(files) if used & set(re.findall(r"^def (\w+)", _text(path), re.MULTILINE))
    ]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = _text(path)
            waiting += _imported(found[path])
    return sorted(found.values())


def _imported(text: str) -> list[Path]:
    files: list[Path] = []
    for package, names, module in _IMPORT.findall(text):
        dotted = [
            package or module,
            *(f"{package}.{name.split()[0]}" for name in names.split(",") if name.split()),
        ]
        home = _home(dotted[0].split(".")[0])
        if home is None:
            continue
        for candidate in dotted:
            place = home.joinpath(*candidate.split("."))
            files += [path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
    return files


@functools.cache
def _home(package: str) -> Path | None:
    """The folder that holds a package of which the sources are at hand, wherever the project lies; none for other packages."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    origin = Path((spec and spec.origin) or "")
    is_installed = {"site-packages", "dist-packages"} & set(origin.parts)
    if is_installed or not origin.is_file() or origin.is_relative_to(sysconfig.get_paths()["stdlib"]):
        return None
    return origin.parent.parent if origin.name == "__init__.py" else origin.parent


def _text(path: Path) -> str:
    key = (path, path.stat().st_mtime_ns)
    if key not in _sources:
        _sources[key] = path.read_text(encoding="utf-8")
    return _sources[key]
