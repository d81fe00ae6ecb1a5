"""What a repair would change, told before it is done."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from geostrata.errors import GeostrataError
from geostrata.repairs.difference import Difference, compare
from geostrata.repairs.plans import Repair
from geostrata.repairs.target import Target
from geostrata.text_table import size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Preview:
    found: Difference
    # Of the whole table, before.
    rows: int
    # Files in which something changes, and their bytes, before and after; None where only Delta will know.
    files_before: int
    bytes_before: int
    files_after: int | None = None
    bytes_after: int | None = None
    # Rows of the source that do not meet the condition.
    left_out: int = 0
    # What a restore changes besides rows: partitions, clustering, properties.
    table_changes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.found.is_empty and not self.table_changes


def look(spark: SparkSession, repair: Repair) -> Preview:
    left_out = _outside(spark, repair)
    if repair.kind == "replace":
        _check_types(spark, repair)
    if repair.before == repair.after:
        found = Difference()
    else:
        found = compare(spark, repair.before, repair.after, repair.target.keys)
    if repair.must_be_equal and not found.is_empty:
        raise GeostrataError(
            f"{repair.target.name}: the backup does not hold the same: {found.counts}. Make a new one: "
            f"geostrata repair clone {shlex.quote(repair.target.name)} --as ..."
        )
    # What a deletion vector hides does not count, so that the log alone does not know.
    rows = spark.sql(f"select count(*) from {repair.target.at(repair.state.version)}").collect()[0][0]
    return Preview(
        found, rows, *_files(spark, repair), left_out=left_out, table_changes=_table_changes(repair)
    )


def _outside(spark: SparkSession, repair: Repair) -> int:
    if repair.outside is None:
        return 0
    count: int = spark.sql(repair.outside).count()
    if count and not repair.leaves_outside:
        raise GeostrataError(
            f"{repair.target.name}: {count:,} rows of the source do not meet the condition ({repair.where}) and would be "
            f"added beside what is replaced. Narrow the source, or take only what meets it: --only-matching"
        )
    return count


def _check_types(spark: SparkSession, repair: Repair) -> None:
    """Values that are cast when they are written would not be those that are shown."""
    ours, theirs = (dict(spark.sql(str(rows)).dtypes) for rows in (repair.before, repair.after))
    for name, kind in ours.items():
        if theirs[name] != kind:
            raise GeostrataError(
                f"{repair.target.name}: {name} is {kind} here and {theirs[name]} in the source: build a table in which it "
                f"is {kind} and name that as --from"
            )


def _table_changes(repair: Repair) -> tuple[str, ...]:
    now, then = repair.state, repair.then
    if then is None:
        return ()
    layouts = (
        ("partitioned", now.partition_columns, then.partition_columns),
        ("clustered", now.log.clustering, then.log.clustering),
    )
    told = [
        f"{verb} by {', '.join(new) or 'nothing'} instead of {', '.join(old) or 'nothing'}"
        for verb, old, new in layouts
        if old != new
    ]
    names = now.properties.keys() | then.properties.keys()
    changed = sorted(name for name in names if now.properties.get(name) != then.properties.get(name))
    return (*told, f"properties as they were: {', '.join(changed)}") if changed else tuple(told)


def _files(spark: SparkSession, repair: Repair) -> tuple[int, int, int | None, int | None]:
    state = repair.state
    if repair.where is not None:
        # Files that hold such rows, by their own names: the table's log knows their sizes.
        rows = spark.sql(
            f"select distinct _metadata.file_name as name, _metadata.file_size as size "
            f"from {repair.target.at(state.version)} as found where ({repair.where})"
        ).collect()
        return len(rows), sum(row["size"] for row in rows), None, None
    if repair.then is not None:
        now = dict(zip(state.files.paths, state.files.sizes.tolist(), strict=True))
        then = dict(zip(repair.then.files.paths, repair.then.files.sizes.tolist(), strict=True))
        gone, come = now.keys() - then.keys(), then.keys() - now.keys()
        return len(gone), sum(now[path] for path in gone), len(come), sum(then[path] for path in come)
    return len(state.files), state.bytes, None, None


def render(repair: Repair, preview: Preview) -> str:
    found, target = preview.found, repair.target
    lines = [f"{target.name}, version {repair.state.version}: {repair.title}", ""]
    if repair.kind in ("clone", "drop", "migrate"):
        lines.append(f"  rows    {preview.rows:,}, none of them changed")
    else:
        lines.append(
            f"  rows    {found.rows_removed:,} removed, {found.rows_added:,} added; {preview.rows:,} in the table now"
        )
        if found.keys_removed is not None:
            lines.append(
                f"  keys    {found.keys_removed:,} removed, {found.keys_added:,} added, {found.keys_changed:,} changed "
                f"({', '.join(target.keys)})"
            )
    lines.append(f"  files   {_told_files(repair, preview)}")
    if found.extent:
        lines.append("  where   {:.5f}, {:.5f} to {:.5f}, {:.5f}".format(*found.extent))
    lines += [f"  table   {change}" for change in preview.table_changes]
    if preview.left_out:
        lines.append(f"  source  {preview.left_out:,} rows do not meet the condition and are left out")
    for verb, names in (("taken away", found.columns_lost), ("come back", found.columns_won)):
        if names:
            lines.append(f"  columns {verb}: {', '.join(names)}")
    for kind, examples in sorted(found.examples.items()):
        lines += ["", f"  {kind}, for example", *(f"    {example}" for example in examples)]
    if repair.kind == "migrate":
        lines += _after_migration(repair)
    # To the change feed a table that is written anew is one of which all rows went and came.
    if not found.is_empty or (repair.kind == "migrate" and repair.partition_by is not None):
        lines += _readers(target)
    return "\n".join(lines)


def _told_files(repair: Repair, preview: Preview) -> str:
    told = f"{preview.files_before:,} ({size(preview.bytes_before)})"
    if preview.files_after is not None:
        return f"{told} go, {preview.files_after:,} ({size(preview.bytes_after or 0)}) come back"
    if repair.kind in ("delete", "replace"):
        return f"{told} of {len(repair.state.files):,} hold such rows"
    verbs = {"clone": "are copied", "drop": "go", "migrate": "are put in order"}
    if repair.partition_by is not None:
        return f"{told} are written anew, twice: beside, and in place"
    return f"{told} {verbs[repair.kind]}"


def _after_migration(repair: Repair) -> list[str]:
    lines = []
    if repair.cluster_by and not repair.state.log.clustering:
        lines.append("  undo    brings the old layout back; ZORDER is never possible again, Delta says")
    if repair.target.table.model:
        config = f"partition_by: [{', '.join(repair.partition_by or ())}]"
        if repair.cluster_by is not None:
            config = f"layout: {{cluster_by: [{', '.join(repair.cluster_by)}]}}"
        lines += ["", f"  Let the model's config say so as well: {config}"]
    return lines


def _readers(target: Target) -> list[str]:
    """What follows for the models that are built from it."""
    lines = []
    if target.readers:
        lines += [
            "",
            f"  Built from it: {_listed(target.readers)}. `dbt build --select {target.table.model}+` carries the change on;",
            "  rows that are gone here go there only where the model takes rows away, or with --full-refresh.",
        ]
    if target.appending:
        lines.append(
            f"  {_listed(target.appending)}: adds what is new here to what it has, also rows that come back."
        )
    return lines


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
