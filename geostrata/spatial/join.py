"""The spatial join: which plan, and the plan itself.

    broadcast right    the right side is small: every worker holds it, indexed, and the left side streams by in Arrow batches
    broadcast left     the same the other way round, where only pairs are wanted
    tiles              neither is small: both are dealt out by tiles, and each tile is joined like a small side
    driver             what conditions leave of both sides is small, in tables on this machine: joined here, without any job

Every plan asks GEOS (or geodesics, for dwithin) about the shapes themselves: plans differ in time, never in the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from geostrata.errors import GeostrataError
from geostrata.spatial.batches import SmallSide, check_no_clash, chosen_columns, gathered
from geostrata.spatial.pairs import ShapeIndex
from geostrata.spatial.wkb import shapes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MACRO = "spatial_join"
MIRRORED = {"contains": "within", "within": "contains", "intersects": "intersects", "dwithin": "dwithin"}
KINDS = ("inner", "left", "anti")
BROADCAST_RIGHT, BROADCAST_LEFT, TILES = PLANS = ("broadcast right", "broadcast left", "tiles")
DRIVER = "driver"
# Of a side that every worker holds. Parsed and prepared, shapes take about five times their size.
BROADCAST_BYTES = 128 << 20
# Beside these columns of the contract, a join wants what is said of a shape: its own columns.
_NOT_BY_DEFAULT = ("geometry", "bbox", "h3", "source_crs", "updated_at")


@dataclass(frozen=True)
class JoinSpec:
    predicate: str = "intersects"
    how: str = "inner"
    left_columns: Any = None
    right_columns: Any = None
    distance_m: float | None = None
    left_geometry: str = "geometry"
    right_geometry: str = "geometry"
    plan: str | None = None

    def __post_init__(self) -> None:
        _check("predicate", self.predicate, tuple(MIRRORED))
        _check("how", self.how, KINDS)
        if self.plan is not None:
            _check("plan", self.plan, (*PLANS, DRIVER))
        if self.plan == BROADCAST_LEFT and self.how != "inner":
            raise GeostrataError(
                f"{MACRO}: plan '{BROADCAST_LEFT}' gives pairs only; how must be inner, got {self.how}"
            )
        if (self.predicate == "dwithin") != (self.distance_m is not None):
            raise GeostrataError(f"{MACRO}: distance_m belongs to predicate dwithin, and dwithin needs it")
        if self.distance_m is not None and not self.distance_m >= 0:
            raise GeostrataError(f"{MACRO}: distance_m must be 0 or more, got {self.distance_m}")


@dataclass(frozen=True)
class JoinPlan:
    frame: Any
    name: str
    why: str


@dataclass(frozen=True)
class Columns:
    """Of the outcome, by their names in the two sides."""

    left: dict[str, str]
    right: dict[str, str]
    left_geometry: str
    right_geometry: str
    schema: Any = field(repr=False)

    def of_left(self) -> list[str]:
        return list(dict.fromkeys([self.left_geometry, *self.left]))

    def of_right(self) -> list[str]:
        return list(dict.fromkeys([self.right_geometry, *self.right]))


def spatial_join(spark: SparkSession, left: Any, right: Any, spec: JoinSpec) -> Any:
    return plan_join(spark, left, right, spec).frame


def plan_join(spark: SparkSession, left: Any, right: Any, spec: JoinSpec) -> JoinPlan:
    columns = columns_of(left.schema, right.schema, spec)
    left, right = left.select(*columns.of_left()), right.select(*columns.of_right())
    name, why = _choose(left, right, spec)
    if name == DRIVER:
        frame = join_on_driver(spark, left.toArrow(), right.toArrow(), spec, columns)
    elif name == TILES:
        from geostrata.spatial import tiles

        dealt = tiles.tiles_for(left, right, columns)
        frame = tiles.joined_by_tiles(left, right, spec, columns, dealt)
        why = f"{why}, in {dealt.count:,} tiles"
    elif name == BROADCAST_LEFT:
        flipped = replace(
            columns,
            left=columns.right,
            right=columns.left,
            left_geometry=columns.right_geometry,
            right_geometry=columns.left_geometry,
        )
        mirrored = replace(spec, predicate=MIRRORED[spec.predicate])
        frame = _streamed(spark, right, left, mirrored, flipped, columns.schema)
    else:
        frame = _streamed(spark, left, right, spec, columns, columns.schema)
    return JoinPlan(frame, name, why)


def join_on_driver(
    spark: SparkSession, left: pa.Table, right: pa.Table, spec: JoinSpec, columns: Columns
) -> Any:
    found = make_indexed(right, spec, columns, left.num_rows).join(left)
    frame = spark.createDataFrame(found.select(columns.schema.names), columns.schema)
    # Of many rows Spark makes a partition for each of Arrow's small batches, and would write a file for each.
    return frame if frame.isLocal() else frame.coalesce(spark.sparkContext.defaultParallelism)


def _streamed(
    spark: SparkSession, left: Any, right: Any, spec: JoinSpec, columns: Columns, schema: Any
) -> Any:
    make_index = partial(make_indexed, spec=spec, columns=columns)
    side = SmallSide(spark, right.toArrow(), make_index)

    def run(batches: Any) -> Any:
        indexed = side.index()
        for table in gathered(batches):
            yield from indexed.join(table).select(schema.names).to_batches()

    return left.mapInArrow(run, schema)


@dataclass(frozen=True)
class Indexed:
    """A right side that is ready for any batch of the left."""

    index: Any
    right: pa.Table
    columns: Columns
    how: str

    def join(self, table: pa.Table) -> pa.Table:
        left, right = self.index.find(table.column(self.columns.left_geometry))
        if self.how != "inner":
            lonely = np.setdiff1d(np.arange(table.num_rows), left)
            if self.how == "anti":
                left, right = lonely, lonely[:0]
            else:
                left, right = np.append(left, lonely), np.append(right, np.full(len(lonely), -1))
        return self.rows(table, left, right)

    def rows(self, table: pa.Table, left: Any, right: Any) -> pa.Table:
        found = {alias: table.column(name).take(pa.array(left)) for name, alias in self.columns.left.items()}
        if self.how != "anti":
            numbers = pa.array(right, mask=right < 0)
            found |= {
                alias: self.right.column(name).take(numbers) for name, alias in self.columns.right.items()
            }
        return pa.table(found)


def make_indexed(right: pa.Table, spec: JoinSpec, columns: Columns, points: int | None = None) -> Indexed:
    shapes = shapes_of(right.column(columns.right_geometry))
    if spec.predicate == "dwithin":
        from geostrata.spatial.within_distance import WithinDistanceIndex

        index: Any = _ByShapes(WithinDistanceIndex.of(shapes, spec.distance_m or 0.0))
    else:
        index = ShapeIndex(shapes, spec.predicate, points)
    return Indexed(index, right.select(list(columns.right)), columns, spec.how)


@dataclass(frozen=True)
class _ByShapes:
    index: Any

    def find(self, column: Any) -> tuple[Any, Any]:
        left, right = self.index.find(shapes_of(column))
        return left, right


def _choose(left: Any, right: Any, spec: JoinSpec) -> tuple[str, str]:
    limit = f"limit {megabytes(BROADCAST_BYTES)}"
    if spec.plan is not None:
        return spec.plan, "as told"
    # Pruning is a job of its own for every side: not where all files together are small already.
    all_bytes = size_before_pruning(right)
    if all_bytes <= BROADCAST_BYTES:
        return BROADCAST_RIGHT, f"the right side is small (at most {megabytes(all_bytes)}, {limit})"
    left_bytes, right_bytes = size_in_bytes(left), size_in_bytes(right)
    sizes = f"left {megabytes(left_bytes)}, right {megabytes(right_bytes)}, {limit}"
    if right_bytes <= BROADCAST_BYTES:
        return BROADCAST_RIGHT, f"the right side is small ({sizes})"
    if left_bytes <= BROADCAST_BYTES and spec.how == "inner":
        return BROADCAST_LEFT, f"the left side is small, the right one is not ({sizes})"
    return TILES, f"no side is small enough for every worker ({sizes})"


def size_before_pruning(frame: Any) -> int:
    """Spark's estimate from the sizes of all files of the tables that are read."""
    return int(str(frame._jdf.queryExecution().analyzed().stats().sizeInBytes()))


def size_in_bytes(frame: Any) -> int:
    """Spark's own estimate, from the sizes of the files that are left after pruning."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MB" if size < 1 << 50 else "of unknown size"


def columns_of(left: Any, right: Any, spec: JoinSpec) -> Columns:
    """Of the outcome, by the schemas of both sides."""
    from pyspark.sql.types import StructField, StructType

    for side, schema, geometry in (("left", left, spec.left_geometry), ("right", right, spec.right_geometry)):
        if geometry not in schema.names:
            raise GeostrataError(
                f"{MACRO}: the {side} side has no column {geometry}; name its geometry in {side}_geometry"
            )
    ours = chosen_columns(MACRO, "left", spec.left_columns, left.names, left.names)
    own = [name for name in right.names if name not in _NOT_BY_DEFAULT and not name.startswith("_")]
    theirs = (
        chosen_columns(MACRO, "right", spec.right_columns, right.names, own) if spec.how != "anti" else {}
    )
    check_no_clash(MACRO, ours, theirs)
    fields = [
        StructField(alias, schema[name].dataType, True)
        for schema, names in ((left, ours), (right, theirs))
        for name, alias in names.items()
    ]
    return Columns(ours, theirs, spec.left_geometry, spec.right_geometry, StructType(fields))


def _check(what: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise GeostrataError(f"{MACRO}: {what} must be one of {', '.join(allowed)}, got {value}")
