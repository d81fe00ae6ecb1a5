"""Python macros: what is loaded, under which type, and what a mistake says."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.sedona import python_macros
from dbt.adapters.sedona.python_macros import Folders
from dbt_common.exceptions import DbtRuntimeError


class FakeSpark:
    """Remembers what was registered."""

    def __init__(self) -> None:
        self.udf = self
        self.registered: dict[str, Any] = {}

    def register(self, name: str, function: Any) -> None:
        self.registered[name] = function


@pytest.fixture(autouse=True)
def _without_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyspark does with a function needs a running JVM."""
    monkeypatch.setattr(python_macros.functions, "promote", lambda spark, names: None)
    for kind in ("udf", "pandas_udf"):
        monkeypatch.setattr(f"pyspark.sql.functions.{kind}", lambda function, ddl: (function, ddl))


def macro_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def only_function(path: Path) -> Any:
    (function,) = python_macros.public_functions(python_macros.load(path))
    return function


def test_public_functions_only(tmp_path: Path) -> None:
    path = macro_file(
        tmp_path,
        "text.py",
        """
        from os.path import join
        from dbt.adapters.sedona.python_macros import returns

        LIMIT = 3

        def _helper(text): return text
        def shout(text: str) -> str: return _helper(text).upper()
        class Thing: pass
        """,
    )
    assert only_function(path).__name__ == "shout"


@pytest.mark.parametrize(
    ("annotation", "ddl"),
    [
        ("str", "string"),
        ("int", "bigint"),
        ("float", "double"),
        ("bool", "boolean"),
        ("bytes", "binary"),
        ("datetime.datetime", "timestamp"),
        ("datetime.date", "date"),
        ("str | None", "string"),
        ("Optional[bytes]", "binary"),
    ],
)
def test_return_types(tmp_path: Path, annotation: str, ddl: str) -> None:
    text = (
        "from __future__ import annotations\nimport datetime\nfrom typing import Optional\n"
        f"def f(x: str) -> {annotation}: ...\n"
    )
    path = macro_file(tmp_path, "m.py", text)
    assert python_macros.return_type(path, only_function(path)) == ddl


def test_the_decorator_gives_any_type_and_wins(tmp_path: Path) -> None:
    text = """
    from dbt.adapters.sedona.python_macros import returns

    @returns("struct<x: double, y: double>")
    def corner(x: float) -> dict: ...
    """
    path = macro_file(tmp_path, "m.py", text)
    assert python_macros.return_type(path, only_function(path)) == "struct<x: double, y: double>"


@pytest.mark.parametrize("annotation", ["", " -> list", " -> int | str", " -> dict[str, int]"])
def test_a_missing_or_unknown_return_type(tmp_path: Path, annotation: str) -> None:
    path = macro_file(tmp_path, "m.py", f"def f(x: str){annotation}: ...\n")
    with pytest.raises(DbtRuntimeError) as caught:
        python_macros.return_type(path, only_function(path))
    assert "Python macro f in" in caught.value.msg
    assert str(path) in caught.value.msg
    assert "str, int, float" in caught.value.msg


def test_series_parameters_mean_whole_batches(tmp_path: Path) -> None:
    text = """
    import pandas as pd

    def batch(text: pd.Series) -> pd.Series: return text
    """
    assert python_macros.is_vectorised(only_function(macro_file(tmp_path, "a.py", text)))
    assert not python_macros.is_vectorised(
        only_function(macro_file(tmp_path, "b.py", "def row(x: str) -> str: ...\n"))
    )
    assert not python_macros.is_vectorised(
        only_function(macro_file(tmp_path, "c.py", "def none() -> str: ...\n"))
    )


def test_registers_every_file_of_every_folder(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        macro_file(tmp_path / folder, "m.py", f"def in_{folder}(x: str) -> str: ...\n")
    macro_file(tmp_path / "one", "_private.py", "raise RuntimeError('never imported')\n")
    spark = FakeSpark()
    folders = (tmp_path / "one", tmp_path / "two", tmp_path / "missing")
    assert python_macros.register(spark, Folders(folders)) == ["in_one", "in_two"]
    assert set(spark.registered) == {"in_one", "in_two"}


def test_a_name_defined_twice_names_both_files(tmp_path: Path) -> None:
    first = macro_file(tmp_path, "a.py", "def shout(x: str) -> str: ...\n")
    second = macro_file(tmp_path, "b.py", "def shout(x: str) -> str: ...\n")
    with pytest.raises(DbtRuntimeError) as caught:
        python_macros.register(FakeSpark(), Folders((tmp_path,)))
    assert caught.value.msg == f"Python macro shout is defined twice: in {first} and in {second}"


def test_packages_bring_their_own_and_the_project_overrides_them(tmp_path: Path) -> None:
    files = {
        "macros/python/mine.py": "def shout(x: str) -> str: return 'mine'\n",
        "dbt_packages/helper/dbt_project.yml": "name: helper\nmacro-paths: [sql]\n",
        "dbt_packages/helper/sql/python/theirs.py": (
            "def shout(x: str) -> str: return 'theirs'\ndef whisper(x: str) -> str: return 'theirs'\n"
        ),
        "dbt_packages/no_package/macros/python/other.py": "raise RuntimeError('never imported')\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    folders = Folders.of_project(tmp_path, ["macros"], "dbt_packages")
    assert [path.name for path in folders.files()] == ["theirs.py", "mine.py"]
    spark = FakeSpark()
    assert python_macros.register(spark, folders) == ["shout", "whisper"]
    assert {name: function("x") for name, (function, _) in spark.registered.items()} == {
        "shout": "mine",
        "whisper": "theirs",
    }


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("x = 1\ndef f(:\n", 2, "SyntaxError"),
        ("import math\n\nmath.sqrt(-1)\n", 3, "ValueError"),
        ("import no_such_package\n", 1, "ModuleNotFoundError"),
    ],
)
def test_a_file_that_cannot_be_loaded(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = macro_file(tmp_path, "broken.py", text)
    with pytest.raises(DbtRuntimeError) as caught:
        python_macros.load(path)
    assert f"{path}, line {line} could not be loaded: {reason}" in caught.value.msg


def test_a_type_that_spark_does_not_know(tmp_path: Path) -> None:
    text = """
    from dbt.adapters.sedona.python_macros import returns

    @returns("no such type")
    def f(x: str): ...
    """
    path = macro_file(tmp_path, "m.py", text)

    class Refuses(FakeSpark):
        def register(self, name: str, function: Any) -> None:
            raise ValueError(
                "[PARSE_SYNTAX_ERROR] Syntax error at or near 'such'.\n\n== SQL ==\nno such type"
            )

    with pytest.raises(DbtRuntimeError) as caught:
        python_macros.register(Refuses(), Folders((tmp_path,)))
    assert caught.value.msg.startswith(
        f"Python macro f in {path} could not be registered: [PARSE_SYNTAX_ERROR]"
    )
    assert "\n" not in caught.value.msg


def test_a_function_that_takes_the_session_is_called_by_jinja(tmp_path: Path) -> None:
    macro_file(
        tmp_path,
        "files.py",
        """
        def count_files(spark, folder: str) -> int: return len(folder)
        def shout(text: str) -> str: return text.upper()
        """,
    )
    spark = FakeSpark()
    assert python_macros.register(spark, Folders((tmp_path,))) == ["shout"]
    assert list(spark.registered) == ["shout"]
    assert python_macros.call(spark, "count_files", {"folder": "abc"}) == 3


def test_a_call_that_fails_says_where(tmp_path: Path) -> None:
    path = macro_file(
        tmp_path,
        "files.py",
        """
        class ShelfError(Exception): pass
        def broken(spark): return 1 / 0
        def refused(spark): raise ShelfError("the shelf is full")
        """,
    )
    python_macros.register(FakeSpark(), Folders((tmp_path,)))
    with pytest.raises(DbtRuntimeError, match=rf"Python macro broken in {path}, line 3: ZeroDivisionError"):
        python_macros.call(None, "broken", {})
    with pytest.raises(DbtRuntimeError) as error:
        python_macros.call(None, "refused", {})
    assert str(error.value).endswith("the shelf is full")
    with pytest.raises(
        DbtRuntimeError, match=r"no Python macro gone has `spark`.*there are: broken, refused"
    ):
        python_macros.call(None, "gone", {})
