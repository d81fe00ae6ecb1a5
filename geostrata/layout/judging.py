"""Whether a table needs its files laid out anew, and why. Most tables most of the time don't, and that must be found cheaply."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dbt.adapters.sedona.table_figures import TableFigures

from geostrata.layout.declared import Layout
from geostrata.layout.ordering import Unordered
from geostrata.tables import file_size
from geostrata.text_table import size

# A file of more than so many times the wanted size holds too much that a small window does not ask for.
_TOO_LARGE = 4


@dataclass(frozen=True)
class Work:
    """One OPTIMIZE: gather small files, or put the whole table in order."""

    kind: Literal["gather", "zorder", "cluster"]
    why: str
    target_file_size: int
    # Liquid clustering leaves what it has clustered before, by whatever columns, unless it is told otherwise.
    is_full: bool = False
    # Only these partitions, as a condition.
    where: str | None = None


def judge(layout: Layout, table: TableFigures, unordered: Callable[[], Unordered]) -> Work | None:
    """`unordered` is asked only where the answer hangs on it."""
    if not layout.is_kept or table.files == 0:
        return None
    target = layout.target_file_size or file_size.target_size(None, {}, table.bytes)
    # Order inside one or a few files leaves out nothing.
    is_worth_ordering = bool(layout.order) and table.bytes >= layout.min_files * target
    if is_worth_ordering and (work := _ordering(layout, table, unordered(), target)):
        return work
    return _gathering(layout, table, target)


def _ordering(layout: Layout, table: TableFigures, found: Unordered, target: int) -> Work | None:
    kind: Literal["zorder", "cluster"] = "zorder" if layout.zorder else "cluster"
    if found.other_order:
        why = f"its files lay in the order of {', '.join(found.other_order)}"
        return Work(kind, why, target, is_full=kind == "cluster")
    if table.partition_columns:
        if work := _partitions_in_order(layout, table, found, target):
            return work
    elif found.bytes >= layout.unclustered_share * table.bytes:
        share = min(1, found.bytes / table.bytes)
        return Work(kind, f"{share:.0%} of its {size(table.bytes)} lay in no order", target)
    # Clustering would not touch files that it has clustered before.
    if kind == "zorder" and table.bytes / table.files > _TOO_LARGE * target:
        return Work(kind, f"its files were larger than {_TOO_LARGE} times {size(target)}", target)
    return None


def _partitions_in_order(layout: Layout, table: TableFigures, found: Unordered, target: int) -> Work | None:
    """ZORDER writes partitions whole: only those that need it. How much each holds is not known without a job, their mean is."""
    enough = layout.unclustered_share * table.bytes / table.partitions
    chosen = [partition for partition, size in found.by_partition.items() if size >= enough]
    if not chosen:
        return None
    why = f"{len(chosen)} of its {table.partitions} partitions lay in no order"
    where = " or ".join(_condition(json.loads(partition)) for partition in sorted(chosen))
    return Work("zorder", why, target, where=where if len(chosen) < table.partitions else None)


def _condition(partition: dict[str, str | None]) -> str:
    parts = [
        f"`{name}` is null" if value is None else f"`{name}` = '{_escaped(value)}'"
        for name, value in partition.items()
    ]
    return f"({' and '.join(parts)})"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")


def _gathering(layout: Layout, table: TableFigures, target: int) -> Work | None:
    small = table.smaller_than(int(target * file_size.SMALL))
    left = max(math.ceil(small.bytes / target), table.partitions)
    if (
        small.files >= layout.min_files
        and small.files >= layout.small_file_share * table.files
        # Files of different partitions are never one.
        and left * 2 <= small.files
    ):
        why = f"{small.files} of its {table.files} files were smaller than {size(target * file_size.SMALL)}"
        return Work("cluster" if layout.cluster_by else "gather", why, target)
    return None
