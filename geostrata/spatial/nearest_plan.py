"""Nearest neighbours and snapping on Spark: the right side is held by every worker, the left one streams by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import shapely

from geostrata.errors import GeostrataError
from geostrata.spatial import join
from geostrata.spatial.batches import SmallSide, check_no_clash, chosen_columns, gathered
from geostrata.spatial.nearest import NearestIndex
from geostrata.spatial.overlay_plan import spread
from geostrata.spatial.snapping import LINES, LineIndex
from geostrata.spatial.wkb import shapes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Sides:
    """Which columns of both sides come out (by their names there), which hold geometry, and which one decides between equals."""

    macro: str
    left: dict[str, str]
    right: dict[str, str]
    left_geometry: str
    right_geometry: str
    right_key: str

    @classmethod
    def of(
        cls,
        macro: str,
        left: Any,
        right: Any,
        own: dict[str, str],
        left_columns: Any,
        right_columns: Any,
        left_geometry: str,
        right_geometry: str,
        right_key: str | None,
    ) -> Sides:
        for side, frame, geometry in (("left", left, left_geometry), ("right", right, right_geometry)):
            if geometry not in frame.columns or frame.schema[geometry].dataType.simpleString() != "binary":
                raise GeostrataError(
                    f"{macro}: the {side} side needs its geometry as WKB in a binary column, and {geometry} is none; "
                    "name the column"
                )
        by_contract = (*join._NOT_BY_DEFAULT, right_geometry)
        said = [name for name in right.columns if name not in by_contract and not name.startswith("_")]
        ours = chosen_columns(macro, "left", left_columns, left.columns, left.columns)
        theirs = chosen_columns(macro, "right", right_columns, right.columns, said)
        check_no_clash(macro, ours, theirs, tuple(own))
        key = right_key or next(iter(theirs), right.columns[0])
        chosen_columns(macro, "right", [key], right.columns, [])
        return cls(macro, ours, theirs, left_geometry, right_geometry, key)

    def of_left(self) -> list[str]:
        return list(dict.fromkeys([self.left_geometry, *self.left]))

    def of_right(self) -> list[str]:
        return list(dict.fromkeys([self.right_geometry, self.right_key, *self.right]))

    def schema(self, left: Any, right: Any, own: dict[str, str]) -> Any:
        from pyspark.sql.types import StructField, StructType

        fields = [
            StructField(alias, frame.schema[name].dataType, True)
            for frame, names in ((left, self.left), (right, self.right))
            for name, alias in names.items()
        ]
        made = StructType(fields)
        for name, kind in own.items():
            made = made.add(name, kind)
        return made

    def sorted_by_key(self, table: pa.Table) -> pa.Table:
        """So that a lower number comes first among equals; of equal keys, by the shape's bytes."""
        keys = dict.fromkeys([self.right_key, self.right_geometry], "ascending")
        try:
            return table.sort_by(list(keys.items()))
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as trouble:
            kind = table.schema.field(self.right_key).type
            raise GeostrataError(
                f"{self.macro}: by {self.right_key} ({kind}) rows can't be put in order; name another column"
            ) from trouble

    def rows(self, ours: pa.Table, left: Any, theirs: pa.Table, right: Any, own: dict[str, Any]) -> pa.Table:
        at, on = pa.array(left), pa.array(right)
        found = {alias: ours.column(name).take(at) for name, alias in self.left.items()}
        found |= {alias: theirs.column(name).take(on) for name, alias in self.right.items()}
        return pa.table(found | own)


NEAREST = {"distance_m": "double", "distance_rank": "integer"}
SNAPPED = {"snapped_geometry": "binary", "distance_m": "double", "position_m": "double"}


def nearest(
    spark: SparkSession, left: Any, right: Any, k: int, max_distance_m: float | None, **columns: Any
) -> Any:
    sides = Sides.of("nearest", left, right, NEAREST, **columns)

    def find(index: NearestIndex, shapes: Any) -> tuple[Any, Any, dict[str, Any]]:
        found = index.find(shapes, k, max_distance_m)
        own = {"distance_m": found.distance_m, "distance_rank": found.rank.astype(np.int32)}
        return found.left, found.right, own

    return _streamed(spark, left, right, sides, NEAREST, NearestIndex.of, find)


def snap_to_lines(
    spark: SparkSession, left: Any, right: Any, max_distance_m: float | None, **columns: Any
) -> Any:
    sides = Sides.of("snap_to_lines", left, right, SNAPPED, **columns)

    def find(index: LineIndex, shapes: Any) -> tuple[Any, Any, dict[str, Any]]:
        _check_kinds(sides.macro, "points", shapes, (shapely.GeometryType.POINT,))
        found = index.snap(shapes, max_distance_m)
        wkb = pa.array(list(shapely.to_wkb(found.places)), pa.binary())
        own = {"snapped_geometry": wkb, "distance_m": found.distance_m, "position_m": found.position_m}
        return found.left, found.right, own

    return _streamed(spark, left, right, sides, SNAPPED, LineIndex, find)


def _streamed(
    spark: SparkSession, left: Any, right: Any, sides: Sides, own: dict[str, str], make: Any, find: Any
) -> Any:
    schema = sides.schema(left, right, own)
    table = sides.sorted_by_key(right.select(*sides.of_right()).toArrow())
    if make is LineIndex:
        _check_kinds(sides.macro, "lines", shapes_of(table.column(sides.right_geometry)), LINES)
    small = SmallSide(spark, table, partial(_indexed, geometry=sides.right_geometry, make=make))

    def run(batches: Any) -> Any:
        index, theirs = small.index()
        for ours in gathered(batches):
            at, on, found = find(index, shapes_of(ours.column(sides.left_geometry)))
            yield from sides.rows(ours, at, theirs, on, found).select(schema.names).to_batches()

    return spread(spark, left.select(*sides.of_left())).mapInArrow(run, schema)


def _indexed(table: pa.Table, geometry: str, make: Any) -> tuple[Any, pa.Table]:
    return make(shapes_of(table.column(geometry)), np.arange(table.num_rows)), table


def _check_kinds(macro: str, wanted: str, shapes: Any, kinds: tuple[Any, ...]) -> None:
    known = shapes[~shapely.is_missing(shapes) & ~shapely.is_empty(shapes)]
    wrong = known[~np.isin(shapely.get_type_id(known), kinds)]
    if len(wrong):
        raise GeostrataError(
            f"{macro}: {len(wrong)} of {len(shapes)} {wanted} are none, the first a {wrong[0].geom_type}; leave them out or take them apart"
        )
