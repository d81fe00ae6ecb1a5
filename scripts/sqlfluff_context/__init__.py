"""dbt's context for sqlfluff's jinja templater, so that the project's own macros render without dbt and without Spark.

Every name here is a name in a template (`library_path` in .sqlfluff). sqlfluff itself brings ref, source, this,
is_incremental and return. The macros of macros/ and of the adapter are the real ones. A macro of dbt itself that lint
reports as undefined gets a line among the last of this file; one of ours needs nothing.

sqlfluff's own `load_macros_from_path` is not used: it compiles every macro anew for every model (half of the time that
lint took), passes over names that begin with an underscore, and stops at a `materialization` block.
"""

from __future__ import annotations

import datetime as _datetime
import itertools as _itertools
import json as _json
import os as _os
import re as _re
from collections.abc import Callable as _Callable
from collections.abc import Iterator as _Iterator
from pathlib import Path as _Path
from types import SimpleNamespace as _SimpleNamespace
from typing import Any as _Any

import yaml as _yaml
from jinja2 import Environment as _Environment
from sqlfluff.core.templaters.builtins.dbt import DBT_BUILTINS as _BUILTINS
from sqlfluff.core.templaters.builtins.dbt import MacroReturn as _MacroReturn

_ROOT = _Path(__file__).resolve().parents[2]
_PROJECT = _yaml.safe_load((_ROOT / "dbt_project.yml").read_text(encoding="utf-8"))
_MACRO_FOLDERS = ("macros", "adapter/dbt/include/sedona/macros")
_MACRO = _re.compile(r"(\{%-?\s*macro\s+)(\w+)(\s*\(.*?\{%-?\s*endmacro\s*-?%\})", _re.DOTALL)
_JINJA = _Environment(extensions=["jinja2.ext.do"])  # noqa: S701 - renders SQL, not HTML


class _Stub(str):
    """Stands for whatever dbt would know at run time: text in SQL, empty in a loop, false in a condition."""

    def __getattr__(self, name: str) -> _Stub:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _key: object) -> _Stub:
        return self

    def __call__(self, *_args: object, **_kwargs: object) -> _Stub:
        return self

    def __iter__(self) -> _Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def get(self, _key: str, default: object = None) -> _Any:
        return self if default is None else default


class _Config:
    """`config(...)` in a model says nothing; `config.get(...)` in a macro gets its default."""

    def __call__(self, *_args: object, **_kwargs: object) -> str:
        return ""

    def get(self, _key: str, default: object = None, **_kwargs: object) -> object:
        return default

    require = get


class _Macro:
    """A macro of ours, compiled when it is first called: a model uses few of them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.compiled: _Callable[..., _Any] | None = None

    def __call__(self, *args: object, **kwargs: object) -> _Any:
        if self.compiled is None:
            names = {**_BUILTINS, **globals()}
            self.compiled = _JINJA.from_string(self.source, globals=names).module.called  # type: ignore[attr-defined]
        try:
            return self.compiled(*args, **kwargs)
        except _MacroReturn as returned:
            return returned.value


def _macros() -> dict[str, _Macro]:
    found = {}
    for folder in _MACRO_FOLDERS:
        for file in sorted((_ROOT / folder).rglob("*.sql")):
            for opening, name, rest in _MACRO.findall(file.read_text(encoding="utf-8")):
                # Under one name for all: jinja does not hand out names that begin with an underscore.
                found[name] = _Macro(f"{opening}called{rest}")
    return found


class _Adapter(_Stub):
    @staticmethod
    def dispatch(name: str, *_args: object, **_kwargs: object) -> _Callable[..., _Any]:
        for prefix in ("sedona", "spark", "default"):
            if (macro := globals().get(f"{prefix}__{name}")) is not None:
                return macro
        return _Stub(name)

    @staticmethod
    def quote(identifier: str) -> str:
        return f"`{identifier}`"


def _silent(*_args: object, **_kwargs: object) -> str:
    return ""


def _variables() -> dict[str, _Any]:
    declared = _PROJECT.get("vars") or {}
    return {**declared, **(declared.get(_PROJECT["name"]) or {})}


def var(name: str, default: object = None) -> object:
    """The project's own value, so that a macro that calculates with it can."""
    value = _variables().get(name, default)
    return _Stub(name) if value is None else value


def env_var(name: str, default: str = "") -> str:
    return _os.environ.get(name, default)


def statement(*_args: object, **_kwargs: object) -> str:
    return ""


# While it parses, dbt has no connection either: macros are written for that case.
execute = False
adapter = _Adapter("adapter")
config = _Config()
model = _Stub("model")
graph = _Stub("graph")
builtins = _Stub("builtins")
dbt = _Stub("string")
target = _SimpleNamespace(name="local", type="sedona", schema="geostrata", database=None, threads=1)
flags = _SimpleNamespace(FULL_REFRESH=False, WHICH="run", STORE_FAILURES=False)
modules = _SimpleNamespace(datetime=_datetime, re=_re, itertools=_itertools)
exceptions = _SimpleNamespace(raise_compiler_error=_silent, warn=_silent)
api = _Stub("api")
project_name = _PROJECT["name"]
invocation_id = "00000000-0000-0000-0000-000000000000"
run_started_at = _datetime.datetime(2025, 1, 1, tzinfo=_datetime.UTC)
dbt_version = "1.11.0"
database = None
schema = "geostrata"
results: list[object] = []
selected_resources: list[str] = []

log = _silent
print = _silent  # noqa: A001 - dbt's name
tojson = _json.dumps
fromjson = _json.loads
toyaml = _yaml.safe_dump
fromyaml = _yaml.safe_load

# Macros of dbt that ours call.
run_query = _Stub("run_query")
load_result = _Stub("load_result")
load_relation = _Stub("load_relation")
load_cached_relation = _Stub("load_cached_relation")
should_full_refresh = _Stub("")

globals().update(_macros())
