"""Union of shapes by key.

Neighbours are united first, by squares of longitude and latitude, so that no worker holds all shapes of a large group; then
each key's unions of squares. A shape leaves its place once, and only unions travel on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from geostrata.errors import GeostrataError
from geostrata.spatial.batches import gathered
from geostrata.spatial.join import size_in_bytes
from geostrata.spatial.wkb import shapes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MACRO = "dissolve"
SQUARES_A_DEGREE = 8
# Of one task's shapes.
_TASK_BYTES = 64 << 20
_SQUARE, _COUNT = "_square", "shape_count"


def union(shapes: Any) -> Any:
    """What `shapely.union_all` says; none where there is nothing. GEOS refuses some invalid shapes: those are made valid."""
    known = shapes[~shapely.is_missing(shapes) & ~shapely.is_empty(shapes)]
    if not len(known):
        return None
    try:
        # Shapes that are far from each other are not tried on each other.
        return shapely.disjoint_subset_union_all(known)
    except shapely.errors.GEOSException:
        return shapely.disjoint_subset_union_all(shapely.make_valid(known))


def dissolve(
    spark: SparkSession, frame: Any, by: Any, geometry: str = "geometry", tasks: int | None = None
) -> Any:
    """The columns of `by`, `geometry` and `shape_count`, one row a key."""
    keys = _keys(frame, by, geometry)
    cores = spark.sparkContext.defaultParallelism
    # Of what another join made, Spark's estimate of the size may be far too large.
    tasks = tasks or max(4 * cores, min(64 * cores, size_in_bytes(frame) // _TASK_BYTES))
    near = _with_squares(frame.select(*keys, geometry).withColumnRenamed(geometry, "geometry"))
    return _united(_united(near, [*keys, _SQUARE], tasks), keys, tasks)


def _keys(frame: Any, by: Any, geometry: str) -> list[str]:
    names = [by] if isinstance(by, str) else list(by or [])
    if not names:
        raise GeostrataError(f"{MACRO}: by must name one column at least, got {by}")
    if geometry not in frame.columns:
        raise GeostrataError(f"{MACRO}: there is no column {geometry}; name the geometry in `geometry`")
    taken = [name for name in names if name in ("geometry", geometry, _COUNT)]
    if taken:
        raise GeostrataError(f"{MACRO}: by must name other columns than its outcome's own, got {taken[0]}")
    for name in names:
        if name not in frame.columns:
            raise GeostrataError(
                f"{MACRO}: there is no column {name} to dissolve by; there are {', '.join(sorted(frame.columns))}"
            )
    return names


def _with_squares(frame: Any) -> Any:
    from pyspark.sql.types import LongType, StructField, StructType

    more = [StructField(_SQUARE, LongType()), StructField(_COUNT, LongType())]
    schema = StructType([*frame.schema.fields, *more])

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            squares = pa.array(square_of(shapes_of(table.column("geometry"))))
            ones = pa.array(np.ones(table.num_rows, np.int64))
            yield from table.append_column(_SQUARE, squares).append_column(_COUNT, ones).to_batches()

    return frame.mapInArrow(run, schema)


def square_of(shapes: Any) -> Any:
    """The square in which the middle of each shape's box lies, as one number."""
    west, south, east, north = np.nan_to_num(shapely.bounds(shapes)).T
    across = np.floor((west + east) / 2 * SQUARES_A_DEGREE).astype(np.int64)
    up = np.floor((south + north) / 2 * SQUARES_A_DEGREE).astype(np.int64)
    return across * 10_000 + up


def _united(frame: Any, keys: list[str], tasks: int) -> Any:
    """One row a key. Sorted by shape as well: in which order shapes are united shows in the last digits."""
    from pyspark.sql.types import StructType

    schema = StructType([frame.schema[name] for name in (*keys, "geometry", _COUNT)])

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in whole_groups(gathered(batches), keys):
            yield from united(table, keys).to_batches()

    columns = [f"`{name}`" for name in keys]
    dealt = frame.select(*schema.names).repartition(tasks, *columns)
    return dealt.sortWithinPartitions(*columns, "geometry").mapInArrow(run, schema)


def whole_groups(tables: Iterator[pa.Table], keys: list[str]) -> Iterator[pa.Table]:
    """The same rows, sorted by key, in tables that no key leaves."""
    held: list[pa.Table] = []
    for table in tables:
        table = pa.concat_tables([*held, table])
        last = int(group_starts(table, keys)[-1])
        if last:
            yield table.slice(0, last)
        held = [table.slice(last)]
    yield from held


def united(table: pa.Table, keys: list[str]) -> pa.Table:
    starts = group_starts(table, keys)
    ends = np.append(starts[1:], table.num_rows)
    shapes = shapes_of(table.column("geometry"))
    unions = np.array(
        [
            union(shapes[start:end]) if end - start > 1 else shapes[start]
            for start, end in zip(starts, ends, strict=True)
        ],
        dtype=object,
    )
    unions[shapely.is_empty(unions)] = None
    counts = np.add.reduceat(table.column(_COUNT).to_numpy(), starts)
    found = table.select(keys).take(pa.array(starts))
    found = found.append_column("geometry", pa.array(list(shapely.to_wkb(unions)), pa.binary()))
    return found.append_column(_COUNT, pa.array(counts))


def group_starts(table: pa.Table, keys: list[str]) -> Any:
    """The first row of each run of equal keys; null equals null."""
    is_start = np.zeros(table.num_rows, dtype=bool)
    is_start[0] = True
    for name in keys:
        codes = pc.dictionary_encode(table.column(name).combine_chunks(), null_encoding="encode")
        numbers = codes.indices.to_numpy(zero_copy_only=False)
        is_start[1:] |= numbers[1:] != numbers[:-1]
    return np.flatnonzero(is_start)
