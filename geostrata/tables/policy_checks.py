"""What a policy must not say of the tables that it holds for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from geostrata.tables.policy import FILE, Policy, Settings
from geostrata.tables.project import ProjectTable
from geostrata.tables.state import TableState
from geostrata.tables.units import days, parse_duration

# Delta's own limit: a reader or writer that began before may still need the files.
SHORTEST_RETENTION = timedelta(days=7)
# A stream that stood still over a long weekend and its repair must find what it has not read.
STREAM_RETENTION = timedelta(days=14)
_LOG_PROPERTY = "delta.logRetentionDuration"
_LOG_DEFAULT = "interval 30 days"
_FILES_PROPERTY = "delta.deletedFileRetentionDuration"
_FILES_DEFAULT = "interval 1 week"


@dataclass(frozen=True)
class Finding:
    text: str
    line: int | None = None
    # Nothing is lost by it: told, but no reason to stop.
    is_warning: bool = False

    def __str__(self) -> str:
        where = f"{FILE}, line {self.line}: " if self.line else f"{FILE}: "
        return f"{where}{self.text}"


def check_selectors(policy: Policy, tables: list[ProjectTable]) -> Iterator[Finding]:
    layers = sorted({table.layer for table in tables})
    for rule in policy.rules:
        if rule.select != "all" and not any(rule.matches(table) for table in tables):
            yield Finding(
                f"select: {rule.select} matches no table of the project; write all, a layer "
                f"({', '.join(layers)}), a model's name or tag:name",
                rule.line,
            )


def check_retention(policy: Policy, tables: list[ProjectTable]) -> Iterator[Finding]:
    """One finding a line of the policy, though it holds for many tables."""
    found: dict[tuple[int | None, str], tuple[str, list[str]]] = {}
    for table in tables:
        for settings, text in _wrong_retention(table, policy.settings_for(table)):
            line = policy.line_of(table, *settings)
            found.setdefault((line, text), (text, []))[1].append(table.name)
    for (line, _), (text, names) in found.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield Finding(f"{names[0]}{more}: {text}", line)


def _wrong_retention(table: ProjectTable, kept: Settings) -> Iterator[tuple[tuple[str, ...], str]]:
    if kept.deleted_files < SHORTEST_RETENTION and not kept.allow_short_retention:
        yield (
            ("deleted_files",),
            f"removed files would be deleted after {days(kept.deleted_files)}, while somebody may still read "
            f"them; keep them for {days(SHORTEST_RETENTION)}, or say why not in allow_short_retention",
        )
    if table.streamed and min(kept.deleted_files, kept.log) < STREAM_RETENTION:
        short = "deleted_files" if kept.deleted_files < STREAM_RETENTION else "log"
        yield (
            ("deleted_files", "log"),
            f"a stream reads it (meta.streamed), and {short} is kept for {days(getattr(kept, short))} only; "
            f"keep both log and deleted_files for {days(STREAM_RETENTION)}",
        )
    if kept.log < kept.deleted_files:
        yield (
            ("log", "deleted_files"),
            f"its log is kept for {days(kept.log)}, shorter than its removed files ({days(kept.deleted_files)}); "
            "versions without a log can't be read, so keep the log at least as long",
        )
    if kept.snapshots > min(kept.log, kept.deleted_files):
        yield (
            ("snapshots", "log", "deleted_files"),
            f"versions of {days(kept.snapshots)} ago should be readable, which needs both log and deleted_files "
            f"to be kept as long ({days(kept.log)} and {days(kept.deleted_files)})",
        )


def check_crs(states: Mapping[ProjectTable, TableState]) -> Iterator[Finding]:
    """All tables with geometry speak of the same coordinates."""
    tables: dict[str, list[str]] = {}
    for table, state in states.items():
        if (crs := _crs(state)) is not None:
            tables.setdefault(crs, []).append(table.name)
    if len(tables) > 1:
        common = max(tables, key=lambda crs: len(tables[crs]))
        for crs, names in tables.items():
            if crs != common:
                yield Finding(
                    f"{', '.join(names)}: its geometry is in {crs} (property geostrata.geo), the other tables' in "
                    f"{common}; transform it, or build the table again"
                )


def _crs(state: TableState) -> str | None:
    try:
        geo = json.loads(state.properties.get("geostrata.geo", ""))
        column = geo["columns"][geo["primary_column"]]
    except (ValueError, KeyError, TypeError):
        return None
    # GeoParquet: without one, longitude and latitude of WGS 84.
    crs: Any = column.get("crs", {"id": {"authority": "OGC", "code": "CRS84"}})
    identity = crs.get("id") if isinstance(crs, dict) else None
    if identity:
        return f"{identity['authority']}:{identity['code']}"
    return json.dumps(crs, sort_keys=True)


def check_properties(policy: Policy, states: Mapping[ProjectTable, TableState]) -> Iterator[Finding]:
    """Delta cleans its log by the table's own property: a policy that says otherwise is not what happens."""
    for table, state in states.items():
        wanted = policy.settings_for(table).log
        has = own_duration(state, _LOG_PROPERTY, _LOG_DEFAULT)
        if has < wanted:
            yield Finding(
                f"{table.name}: Delta keeps its log for {days(has)} ({_LOG_PROPERTY}), the policy says "
                f"{days(wanted)}; declare it in dbt_project.yml, and the next dbt run sets it",
                policy.line_of(table, "log"),
                is_warning=True,
            )


def own_duration(state: TableState, name: str, default: str) -> timedelta:
    try:
        return parse_duration(state.properties.get(name, default))
    except ValueError:
        return parse_duration(default)


def retention_of(state: TableState, kept: Settings) -> timedelta:
    """The longer of the policy's and the table's own, unless the policy says why it may be short."""
    if kept.allow_short_retention:
        return kept.deleted_files
    return max(kept.deleted_files, own_duration(state, _FILES_PROPERTY, _FILES_DEFAULT))
