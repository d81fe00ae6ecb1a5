"""What of a model's declared layout can't be, found before anything is written. Each in words that name the way out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dbt.adapters.sedona.table_figures import TableFigures

from geostrata.errors import GeostrataError
from geostrata.layout import delta_names, statistics
from geostrata.layout.columns import find, has_statistics, leaves_of_json
from geostrata.layout.declared import Model
from geostrata.text_table import size

_MANY_VALUES = re.compile(r"(float|double|decimal.*|timestamp.*|binary)")
_CELLS = re.compile(r"h3|h3_.*|.*_h3")
_TIMES = re.compile(r".*_(ts|at)")


def of_model(
    facts: Mapping[str, Any],
    find_table: Callable[[], TableFigures | None],
    find_types: Callable[[], dict[str, str]],
    note: Callable[[str], None],
    is_rebuilt: bool = False,
) -> list[str]:
    """What can't be as a model declares it. Its table is looked at only where the layout speaks of columns or partitions;
    `is_rebuilt` says that this run replaces it."""
    try:
        model = Model.of(**facts)
        delta_names.check(model.name, model.properties)
    except GeostrataError as error:
        return [str(error)]
    if not model.layout.order and not model.partition_by:
        return []
    table = find_table()
    columns = find_types() or (leaves_of_json(table.schema) if table is not None else {})
    found = list(clashes(model, columns, table))
    if table is not None and not is_rebuilt:
        found += _that_only_a_rebuild_changes(model, table)
    if model.partition_by and table is None and not found:
        note(
            f"{model.name}: partitioned by {', '.join(model.partition_by)}: from the next run on, its partitions must hold "
            f"{size(model.layout.min_partition_size)} on average (layout: {{min_partition_size: ...}})"
        )
    return found


def clashes(model: Model, columns: Mapping[str, str], table: TableFigures | None) -> Iterator[str]:
    """`columns`: leaf columns with their types, as far as they are known; `table`: what is there now."""
    yield from _of_order(model, columns)
    yield from _of_partitions(model, columns)
    if table is not None:
        yield from _with_table(model, table)


def _of_order(model: Model, columns: Mapping[str, str]) -> Iterator[str]:
    kind = "zorder" if model.layout.zorder else "cluster_by"
    for name in model.layout.order:
        where = f"{model.name}: layout.{kind} names {name}"
        if name in model.partition_by:
            yield f"{where}, by which the table is partitioned already: leave it out of {kind}"
        elif columns:
            yield from _of_column(where, name, columns)
    for name in statistics.lacking(model, columns):
        said = statistics.PROPERTY if statistics.PROPERTY in model.properties else statistics.BY_NUMBER
        yield (
            f"{model.name}: layout.{kind} names {name}, for which {said} = {model.properties[said]} keeps no statistics, so that "
            f"no file could be left out by it: add it there, or leave the property out (it is derived)"
        )
    if model.layout.cluster_by and model.partition_by:
        yield (
            f"{model.name}: layout.cluster_by and partition_by ({', '.join(model.partition_by)}) exclude each other in Delta: "
            f"leave partition_by out and add its column to cluster_by"
        )


def _of_column(where: str, name: str, columns: Mapping[str, str]) -> Iterator[str]:
    known = find(name, columns)
    if known is None:
        fields = [column for column in columns if column.lower().startswith(f"{name.lower()}.")]
        if fields:
            yield f"{where}, a struct: name its fields, such as {', '.join(fields[:2])}"
        else:
            yield f"{where}, which is no column of it: it has {', '.join(columns)}"
    elif columns[known] == "binary":
        yield f"{where}, a binary column (WKB has no order): use bbox.xmin and bbox.ymin, or h3"
    elif not has_statistics(columns[known]):
        yield f"{where}, of type {columns[known]}, for which Delta keeps no statistics: order by a number, a time or a text"


def _of_partitions(model: Model, columns: Mapping[str, str]) -> Iterator[str]:
    for name in model.partition_by:
        known = find(name, columns)
        kind = columns[known] if known else ""
        why = None
        if _CELLS.fullmatch(name.lower()):
            why = "an H3 cell"
        elif name in model.keys:
            why = "a key"
        elif _MANY_VALUES.fullmatch(kind) or (not kind and _TIMES.fullmatch(name.lower())):
            why = f"of type {kind}" if kind else "a time"
        if why:
            yield (
                f"{model.name}: partition_by names {name}, {why}: as many folders as values. Partition by a date or another column "
                f"of few values, or leave partition_by out and use layout: {{zorder: [{name}]}}"
            )
        elif columns and known is None:
            yield f"{model.name}: partition_by names {name}, which is no column of it: it has {', '.join(columns)}"


def _that_only_a_rebuild_changes(model: Model, table: TableFigures) -> Iterator[str]:
    if [name.lower() for name in model.partition_by] != [name.lower() for name in table.partition_columns]:
        there = (
            f"partitioned by {', '.join(table.partition_columns)}"
            if table.partition_columns
            else "not partitioned"
        )
        wanted = f"partition_by {', '.join(model.partition_by)}" if model.partition_by else "none of it"
        yield (
            f"{model.name}: the table is {there} and the model declares {wanted}: only a new table can change that. "
            f"Build once with --full-refresh"
        )


def _with_table(model: Model, table: TableFigures) -> Iterator[str]:
    if model.layout.zorder and table.is_liquid:
        yield (
            f"{model.name}: layout.zorder on a table that has been clustered (cluster_by): Delta never allows ZORDER there again, "
            f"not after a full refresh either. Use layout: {{cluster_by: [{', '.join(model.layout.zorder)}]}}, or drop the table "
            f"with its history and build it anew"
        )
    if model.partition_by and table.partitions > 1:
        mean = table.bytes // table.partitions
        if mean < model.layout.min_partition_size:
            yield (
                f"{model.name}: partition_by {', '.join(model.partition_by)} makes {table.partitions} partitions of {size(mean)} on "
                f"average, and under {size(model.layout.min_partition_size)} they cost more than they save. Leave partition_by out "
                f"and use layout: {{zorder: [{', '.join(model.partition_by)}]}}, then build with --full-refresh; or, if the table will "
                f"grow, say layout: {{min_partition_size: ...}}"
            )
