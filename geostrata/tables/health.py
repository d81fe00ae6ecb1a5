"""The figures of a table's layout. docs/audit.md says what each one means."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from geostrata.tables import boxes, file_size
from geostrata.tables.project import ProjectTable
from geostrata.tables.state import SIDES, Files, TableState

SLOW_COMMIT_S = 2.0
# The newest commits tell how it is now.
COMMITS_JUDGED = 100
# 10 by 10 windows, each a hundredth of the extent.
WINDOWS_PER_SIDE = 10
# A file is in its place if others cover no more than half of its box, on average, within its partition.
IN_PLACE_DEPTH = 1.5


@dataclass(frozen=True)
class Health:
    relation_name: str
    table_path: str
    table_version: int
    versions_kept: int
    files: int
    total_bytes: int
    total_rows: int
    target_file_bytes: int
    mean_file_bytes: float
    small_files: int
    tombstone_files: int
    tombstone_bytes: int
    statistics_coverage: float | None
    overlap_depth: float | None
    window_files: float | None
    window_files_ideal: float | None
    window_bytes: float | None
    window_bytes_ideal: float | None
    read_amplification: float | None
    clustered_share: float | None
    commit_latency_s: float | None
    commit_latency_max_s: float | None
    slow_commits: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(table: ProjectTable, state: TableState) -> Health:
    files = state.files
    target = file_size.target_size(table.layout, state.properties, state.bytes)
    latencies = [c.latency_s for c in state.log.commits if c.latency_s is not None][-COMMITS_JUDGED:]
    dead = state.log.dead
    asked = _windows(files, target) if state.is_spatial else None
    return Health(
        relation_name=table.name,
        table_path=table.uri,
        table_version=state.version,
        versions_kept=len(state.log.commits),
        files=len(files),
        total_bytes=state.bytes,
        total_rows=state.rows,
        target_file_bytes=target,
        mean_file_bytes=state.bytes / len(files) if len(files) else 0.0,
        small_files=int(small_files(files, target).sum()),
        tombstone_files=len(dead),
        tombstone_bytes=sum(stone.size for stone in dead),
        statistics_coverage=_coverage(table, state),
        overlap_depth=_depth(files) if state.is_spatial else None,
        window_files=asked.files if asked else None,
        window_files_ideal=asked.files_ideal if asked else None,
        window_bytes=asked.bytes if asked else None,
        window_bytes_ideal=asked.bytes_ideal if asked else None,
        read_amplification=asked.bytes / asked.bytes_ideal if asked else None,
        clustered_share=clustered_share(table, state),
        commit_latency_s=statistics.median(latencies) if latencies else None,
        commit_latency_max_s=max(latencies, default=None),
        slow_commits=sum(latency > SLOW_COMMIT_S for latency in latencies),
    )


def by_partition(files: Files) -> dict[tuple[Any, ...], npt.NDArray[np.int64]]:
    """Numbers of the files in each partition; files are never merged across."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for number, values in enumerate(files.partitions):
        found.setdefault(values, []).append(number)
    return {values: np.array(members) for values, members in found.items()}


def small_files(files: Files, target: int) -> npt.NDArray[np.bool_]:
    """Under half the target, and not the only such file of their partition: that one has nobody to be merged with."""
    small = files.sizes < target * file_size.SMALL
    for members in by_partition(files).values():
        if small[members].sum() == 1:
            small[members] = False
    return small


def file_boxes(files: Files, members: npt.NDArray[np.int64] | None = None) -> boxes.Boxes | None:
    """A box a file, of those that hold rows or of these members. One without statistics must be read wherever one asks:
    it covers the whole extent.
    """
    held = files.boxes[_holds_rows(files) if members is None else members]
    unknown = np.isnan(held).any(axis=1)
    if not len(held) or unknown.all():
        return None
    filled = held.copy()
    filled[unknown] = boxes.extent(held[~unknown])
    return filled


def clustered(table: ProjectTable, state: TableState) -> npt.NDArray[np.bool_] | None:
    """Which files hold rows in their place: written in the wanted order, alone in their partition, or with a box that others
    hardly touch. None for a table that has neither a place nor an order.
    """
    files = state.files
    wanted = table.order or state.log.clustering
    found = np.array([_is_wanted(order, wanted) for order in files.ordered_by], bool)
    if not state.is_spatial and not wanted and not found.any():
        return None
    for members in by_partition(files).values():
        if len(members) == 1:
            found[members] = True
        elif state.is_spatial and not found[members].all():
            placed = file_boxes(files, members)
            if placed is not None:
                found[members] |= boxes.depth_within(placed) <= IN_PLACE_DEPTH
    # What has no rows is in nobody's way.
    return found | ~_holds_rows(files)


def clustered_share(table: ProjectTable, state: TableState) -> float | None:
    """Of rows; of bytes where the log counts no rows."""
    found = clustered(table, state)
    if found is None:
        return None
    weights = state.files.rows if state.rows else state.files.sizes
    return float(weights[found].sum() / weights.sum()) if weights.sum() else 1.0


def _is_wanted(order: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Any order, if the project asks for none; delta-rs does not say which."""
    return bool(order) and (not wanted or order == ("?",) or order == tuple(wanted))


def _holds_rows(files: Files) -> npt.NDArray[np.bool_]:
    # Without any count of rows, every file may hold some.
    return files.rows > 0 if files.rows.any() else np.ones(len(files), bool)


def _depth(files: Files) -> float | None:
    placed = file_boxes(files)
    return boxes.overlap_depth(placed) if placed is not None else None


def _coverage(table: ProjectTable, state: TableState) -> float | None:
    """Of the columns by which a query can pass over files: what share of (file, column) has statistics."""
    files = state.files
    wanted = set(table.order or state.log.clustering)
    wanted |= {f"bbox.{side}" for side in SIDES} if state.is_spatial else set()
    wanted |= {"h3"} & set(state.columns)
    wanted -= set(state.partition_columns)
    wanted = wanted or set(files.statistics)
    if not wanted or not len(files):
        return None
    none = np.zeros(len(files), bool)
    return float(np.mean([files.statistics.get(name, none) for name in sorted(wanted)]))


@dataclass(frozen=True)
class Asked:
    """Means over the windows that hold something."""

    files: float
    files_ideal: float
    bytes: float
    bytes_ideal: float


def _windows(files: Files, target: int) -> Asked | None:
    placed = file_boxes(files)
    if placed is None:
        return None
    sizes = files.sizes[_holds_rows(files)]
    asked = boxes.windows(placed, WINDOWS_PER_SIDE)
    hit = boxes.hits(placed, asked)
    # What lies in a window if each file's rows lie evenly over its box.
    inside = boxes.shares(placed, asked) @ sizes
    some = hit.any(axis=1)
    whole_files = np.array([max(1, math.ceil(share / target)) for share in inside])
    ideal_bytes = np.minimum(whole_files * target, sizes.sum())
    return Asked(
        files=float(hit.sum(axis=1)[some].mean()),
        files_ideal=float(whole_files[some].mean()),
        bytes=float((hit @ sizes)[some].mean()),
        bytes_ideal=float(ideal_bytes[some].mean()),
    )
