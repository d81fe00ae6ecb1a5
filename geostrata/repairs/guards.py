"""What is refused, and what can be done instead."""

from __future__ import annotations

from collections.abc import Sequence

from geostrata.errors import GeostrataError
from geostrata.layout import statistics
from geostrata.layout.declared import names
from geostrata.repairs.target import Target
from geostrata.tables.state import TableState


def check(kind: str, target: Target, state: TableState) -> None:
    """Of all that takes rows away, or writes them anew as changes."""
    if target.table.streamed:
        raise GeostrataError(
            f"{target.name}: a stream reads it (meta.streamed), and stops at a commit that takes rows away. Stop the "
            f"stream, set `streamed: false` in the model's meta, run `dbt parse` and repair again; then start the "
            f"stream with a new checkpoint"
        )
    if kind != "drop" and is_append_only(state):
        raise GeostrataError(
            f"{target.name} is append-only (delta.appendOnly): landed rows are never changed, so that each can be "
            f"accounted for. Land a corrected file, which supersedes them, or repair the table that is built from it"
        )


def is_append_only(state: TableState) -> bool:
    return state.properties.get("delta.appendOnly", "").lower() == "true"


def check_place(kind: str, target: Target) -> None:
    """These make and remove folders."""
    if kind in ("clone", "drop", "migrate") and "://" in target.path:
        raise GeostrataError(f"{target.name}: {kind} works on tables on a local disk only")


def check_keys(target: Target, state: TableState, were_given: bool) -> tuple[str, ...]:
    """The key's columns; those of the model only where the table has them."""
    columns = {name.split(".")[0] for name in state.columns}
    unknown = [key for key in target.keys if key not in columns]
    if unknown and were_given:
        raise GeostrataError(
            f"--key: {target.name} has no column {unknown[0]}; it has {', '.join(sorted(columns))}"
        )
    return () if unknown else target.keys


def check_clustering(target: Target, state: TableState, columns: Sequence[str]) -> None:
    if names(ordered := (target.table.layout or {}).get("zorder")):
        raise GeostrataError(
            f"{target.name}: its model declares layout.zorder ({', '.join(names(ordered))}), and Delta never allows ZORDER "
            f"again on a table that has been clustered. Declare `layout: {{cluster_by: ...}}` and run `dbt parse` first"
        )
    # Delta clusters by columns of which it keeps statistics.
    kept = state.properties.get(statistics.PROPERTY)
    if kept is None:
        return
    known = {name.strip(" `") for name in kept.split(",")}
    lacking = [
        column
        for column in columns
        if not any(column == name or column.startswith(f"{name}.") for name in known)
    ]
    if lacking:
        raise GeostrataError(
            f"{target.name}: Delta clusters by columns with statistics, and keeps none of {lacking[0]} "
            f"({statistics.PROPERTY}). Name it in the model's `layout: {{cluster_by: ...}}`, which adds it"
        )


def check_unchanged(target: Target, expected: int, found: int) -> None:
    if found != expected:
        raise GeostrataError(
            f"{target.name}: another writer committed meanwhile (version {found}, looked at {expected}); nothing was "
            f"changed. Look again, then apply"
        )
