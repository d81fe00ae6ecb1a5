"""The policy in maintenance.yml: when a table is worked on, and how long is kept what it no longer needs."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from geostrata import settings
from geostrata.errors import GeostrataError
from geostrata.tables import policy_file
from geostrata.tables.policy_file import Value
from geostrata.tables.project import ProjectTable
from geostrata.tables.units import Window, parse_duration, parse_size, parse_window

FILE = "maintenance.yml"
VERSION = 1
# More at once would take the cores from the runs that maintenance must not disturb.
MOST_CONCURRENT = 5


@dataclass(frozen=True)
class Settings:
    """What holds for a table; the defaults hold where no rule says otherwise."""

    # Compact where this many small files could be merged, and they are this share of the files.
    small_files: int = 16
    small_share: float = 0.25
    # Order anew where this much, and this share, lies outside the order.
    unclustered_bytes: int = 64 << 20
    unclustered_share: float = 0.2
    # None: as the model's layout says.
    target_file_size: int | None = None
    # How long commits, removed files and readable versions are kept.
    log: timedelta = timedelta(days=30)
    deleted_files: timedelta = timedelta(days=7)
    snapshots: timedelta = timedelta(days=7)
    # Why files may be deleted before a week has gone by.
    allow_short_retention: str | None = None
    # Delete removed files once they are this much.
    reclaim_bytes: int = 16 << 20
    # Hours in which to work; None: whenever it is called.
    window: Window | None = None


@dataclass(frozen=True)
class Rule:
    select: str
    line: int
    changes: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def matches(self, table: ProjectTable) -> bool:
        if self.select.startswith("tag:"):
            return self.select.removeprefix("tag:") in table.tags
        return self.select in ("all", table.layer, table.model, table.name)


@dataclass(frozen=True)
class Policy:
    concurrency: int
    rules: tuple[Rule, ...]

    def settings_for(self, table: ProjectTable) -> Settings:
        """Later rules win, setting by setting."""
        found = Settings()
        for rule in self.rules:
            if rule.matches(table):
                found = replace(found, **rule.changes)
        return found

    def line_of(self, table: ProjectTable, *names: str) -> int | None:
        """Where the setting that holds for a table was made, last of all."""
        lines = [
            rule.lines[name]
            for rule in self.rules
            if rule.matches(table)
            for name in names
            if name in rule.lines
        ]
        return lines[-1] if lines else None


def load(path: Path | None = None) -> Policy:
    file = path or settings.project_dir() / FILE
    whole = policy_file.load(file)
    try:
        return _policy(whole)
    except _WrongError as wrong:
        raise GeostrataError(f"{file.name}, line {wrong.line}: {wrong}") from wrong


class _WrongError(Exception):
    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def _policy(whole: Value) -> Policy:
    _known(whole, ["version", "concurrency", "rules"], "the policy")
    for name in ("version", "rules"):
        if name not in whole.plain:
            raise _WrongError(whole.line, f"`{name}` is missing")
    version = whole.plain["version"]
    if version.plain != VERSION:
        raise _WrongError(version.line, f"version {version.plain} is unknown; this is version {VERSION}")
    rules = whole.plain["rules"]
    if not rules.is_list:
        raise _WrongError(rules.line, "`rules` must be a list, each with a `select`")
    return Policy(_concurrency(whole.plain.get("concurrency")), tuple(_rule(rule) for rule in rules.plain))


def _concurrency(value: Value | None) -> int:
    if value is None:
        return 1
    if not isinstance(value.plain, int) or not 1 <= value.plain <= MOST_CONCURRENT:
        raise _WrongError(
            value.line, f"concurrency {value.plain}: at most {MOST_CONCURRENT} jobs run at once, at least 1"
        )
    return value.plain


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"'{value}' is no count: write a whole number from 1")
    return value


def _share(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError(f"'{value}' is no share: write a number from 0 to 1")
    return float(value)


def _reason(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("write the reason; it goes to ops.maintenance_log with every such vacuum")
    return value.strip()


def _target(value: object) -> int | None:
    return None if value == "auto" else parse_size(value)


def _window(value: object) -> Window | None:
    return None if value is None or value == "always" else parse_window(value)


# Where a rule's settings stand in the file, and how each is read.
_READ: dict[str, dict[str, Callable[[object], Any]]] = {
    "compact": {
        "small_files": _count,
        "small_share": _share,
        "unclustered_bytes": parse_size,
        "unclustered_share": _share,
        "target_file_size": _target,
    },
    "retention": {
        "log": parse_duration,
        "deleted_files": parse_duration,
        "snapshots": parse_duration,
        "reclaim_bytes": parse_size,
        "allow_short_retention": _reason,
    },
}


def _rule(value: Value) -> Rule:
    if not value.is_mapping:
        raise _WrongError(value.line, "a rule begins with `select`: all, a layer, a model or tag:name")
    _known(value, ["select", "window", *_READ], "a rule")
    select = value.plain.get("select")
    if select is None or not isinstance(select.plain, str):
        raise _WrongError(value.line, "a rule needs `select`: all, a layer, a model or tag:name")
    changes: dict[str, Any] = {}
    lines: dict[str, int] = {}
    if "window" in value.plain:
        changes["window"] = _read(value.plain["window"], "window", _window)
        lines["window"] = value.plain["window"].line
    for group, readers in _READ.items():
        if group not in value.plain:
            continue
        _known(value.plain[group], list(readers), f"`{group}`")
        for name, given in value.plain[group].items():
            changes[name] = _read(given, name, readers[name])
            lines[name] = given.line
    return Rule(select.plain, select.line, changes, lines)


def _read(value: Value, name: str, reader: Callable[[object], Any]) -> Any:
    try:
        return reader(value.plain)
    except ValueError as error:
        raise _WrongError(value.line, f"{name}: {error}") from error


def _known(value: Value, names: list[str], where: str) -> None:
    if not value.is_mapping:
        raise _WrongError(value.line, f"{where} must hold names and values: {', '.join(names)}")
    for name, given in value.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise _WrongError(given.line, f"{where} knows no `{name}`; {hint}")
