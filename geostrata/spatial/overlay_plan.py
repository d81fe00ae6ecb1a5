"""Overlay of two relations: one is small and every worker holds it, or both are dealt out by tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import shapely

from geostrata.errors import GeostrataError
from geostrata.spatial import join
from geostrata.spatial.batches import SmallSide, check_no_clash, chosen_columns, gathered
from geostrata.spatial.dealing import TILE, deal_out
from geostrata.spatial.overlay import Overlay, Parts
from geostrata.spatial.wkb import shapes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MACRO = "overlay"
# What Spark makes a task of when it reads a table.
_TASK_BYTES = 128 << 20
OWN = ("geometry", "area_m2", "left_share", "right_share")


@dataclass(frozen=True)
class OverlaySpec:
    left_columns: Any = None
    right_columns: Any = None
    min_area_m2: float = 0.0
    left_geometry: str = "geometry"
    right_geometry: str = "geometry"
    plan: str | None = None

    def __post_init__(self) -> None:
        if self.plan not in (None, *join.PLANS):
            raise GeostrataError(f"{MACRO}: plan must be one of {', '.join(join.PLANS)}, got {self.plan}")
        if not self.min_area_m2 >= 0:
            raise GeostrataError(f"{MACRO}: min_area_m2 must be 0 or more, got {self.min_area_m2}")


@dataclass(frozen=True)
class _Side:
    geometry: str
    # By name in the relation: name in the outcome.
    columns: dict[str, str]
    share: str

    def needed(self) -> list[str]:
        return list(dict.fromkeys([self.geometry, *self.columns]))


def overlay(spark: SparkSession, left: Any, right: Any, spec: OverlaySpec) -> Any:
    ours = _side("left", left, spec.left_geometry, spec.left_columns)
    theirs = _side("right", right, spec.right_geometry, spec.right_columns)
    check_no_clash(MACRO, ours.columns, theirs.columns, OWN)
    schema = _schema((left, ours), (right, theirs))
    left, right = left.select(*ours.needed()), right.select(*theirs.needed())
    plan = spec.plan or _choose(left, right)
    if plan == join.TILES:
        return _by_tiles(spark, left, ours, right, theirs, spec.min_area_m2, schema)
    if plan == join.BROADCAST_LEFT:
        left, ours, right, theirs = right, theirs, left, ours
    return _streamed(spark, left, ours, right, theirs, spec.min_area_m2, schema)


def _streamed(
    spark: SparkSession, left: Any, ours: _Side, right: Any, theirs: _Side, min_area_m2: float, schema: Any
) -> Any:
    small = SmallSide(
        spark, right.toArrow(), lambda table: (Overlay(shapes_of(table.column(theirs.geometry))), table)
    )

    def run(batches: Any) -> Any:
        index, table = small.index()
        for batch in gathered(batches):
            parts = index.parts(shapes_of(batch.column(ours.geometry)), min_area_m2)
            yield from _rows(batch, ours, table, theirs, parts).select(schema.names).to_batches()

    return spread(spark, left, ours.geometry).mapInArrow(run, schema)


def spread(spark: SparkSession, frame: Any, *columns: str) -> Any:
    """The rows over all cores: a table of one file would be one task, and GEOS has far more to do with a row than moving it costs.

    By columns that differ from row to row, if there are: without, Spark sorts all rows before it deals them out.
    """
    cores = spark.sparkContext.defaultParallelism
    return (
        frame.repartition(2 * cores, *columns) if join.size_in_bytes(frame) < cores * _TASK_BYTES else frame
    )


def _by_tiles(
    spark: SparkSession, left: Any, ours: _Side, right: Any, theirs: _Side, min_area_m2: float, schema: Any
) -> Any:
    made, (dealt_left, dealt_right) = deal_out(spark, (left, ours.geometry), (right, theirs.geometry))

    def overlay_tile(our_rows: pa.Table, their_rows: pa.Table) -> pa.Table:
        left_shapes = shapes_of(our_rows.column(ours.geometry))
        right_shapes = shapes_of(their_rows.column(theirs.geometry))
        boxes, others = shapely.bounds(left_shapes), shapely.bounds(right_shapes)

        # A pair that meets in several tiles is told by the one in which its common box begins.
        def begins_here(i: Any, j: Any) -> Any:
            begin = made.of_points(np.maximum(boxes[i, :2], others[j, :2]))
            return begin == (our_rows.column(TILE)[0].as_py() if len(i) else -1)

        parts = Overlay(right_shapes).parts(left_shapes, min_area_m2, begins_here)
        return _rows(our_rows, ours, their_rows, theirs, parts).select(schema.names)

    return dealt_left.cogroup(dealt_right).applyInArrow(overlay_tile, schema)


def _rows(ours: pa.Table, our: _Side, theirs: pa.Table, their: _Side, parts: Parts) -> pa.Table:
    left, right = pa.array(parts.left), pa.array(parts.right)
    our_share, their_share = parts.shares()
    found = {alias: ours.column(name).take(left) for name, alias in our.columns.items()}
    found |= {alias: theirs.column(name).take(right) for name, alias in their.columns.items()}
    found["geometry"] = pa.array(list(shapely.to_wkb(parts.shapes)), pa.binary())
    found["area_m2"] = pa.array(parts.area_m2)
    found[our.share], found[their.share] = pa.array(our_share), pa.array(their_share)
    return pa.table(found)


def _side(name: str, frame: Any, geometry: str, columns: Any) -> _Side:
    if geometry not in frame.columns:
        raise GeostrataError(
            f"{MACRO}: the {name} side has no column {geometry}; name its geometry in {name}_geometry"
        )
    own = [
        column
        for column in frame.columns
        if column not in (*join._NOT_BY_DEFAULT, geometry) and not column.startswith("_")
    ]
    return _Side(geometry, chosen_columns(MACRO, name, columns, frame.columns, own), f"{name}_share")


def _schema(*sides: tuple[Any, _Side]) -> Any:
    from pyspark.sql.types import BinaryType, DoubleType, StructField, StructType

    given = [
        StructField(alias, frame.schema[name].dataType)
        for frame, side in sides
        for name, alias in side.columns.items()
    ]
    own = [StructField(name, BinaryType() if name == "geometry" else DoubleType()) for name in OWN]
    return StructType([*given, *own])


def _choose(left: Any, right: Any) -> str:
    if join.size_in_bytes(right) <= join.BROADCAST_BYTES:
        return join.BROADCAST_RIGHT
    return join.BROADCAST_LEFT if join.size_in_bytes(left) <= join.BROADCAST_BYTES else join.TILES
