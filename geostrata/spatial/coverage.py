"""What is wrong with shapes that should cover an area: overlaps, gaps, what lies outside, and shapes that come twice.

Relations of any size: shapes are dealt out by tiles, and every tile is judged on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import shapely

from geostrata.spatial.areas import area_m2, length_m, polygons_of
from geostrata.spatial.batches import gathered
from geostrata.spatial.dealing import TILE, deal_out, leaf_boxes
from geostrata.spatial.dissolve import dissolve, union
from geostrata.spatial.overlay import Overlay, extents, intersections, polygonal
from geostrata.spatial.wkb import shapes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHER = "other_"
_AREA = 2
_BOX = ("_west", "_south", "_east", "_north")


def overlapping(spark: SparkSession, frame: Any, keys: list[str], geometry: str, tolerance_m2: float) -> Any:
    """Pairs that share more than so much area: keys of both, the common part and its area."""
    from pyspark.sql.types import BinaryType, DoubleType, StructField, StructType

    rows = frame.select(*keys, geometry)
    made, (dealt,) = deal_out(spark, (rows, geometry))
    own = [StructField("geometry", BinaryType()), StructField("area_m2", DoubleType())]
    schema = StructType([*(rows.schema[name] for name in keys), *_others(rows, keys), *own])

    def judge(table: pa.Table) -> pa.Table:
        shapes = sound(table.column(geometry))
        boxes, tile = shapely.bounds(shapes), table.column(TILE)[0].as_py()

        def wanted(i: Any, j: Any) -> Any:
            # A pair that meets in several tiles is told by the one in which its common box begins.
            begin = np.maximum(boxes[i, :2], boxes[j, :2])
            mask = (i < j) & (made.of_points(begin) == tile)
            # Most neighbours only touch.
            mask[mask] = shapely.relate_pattern(shapes[i[mask]], shapes[j[mask]], "T********")
            return mask

        parts = Overlay(shapes).parts(shapes, tolerance_m2, wanted)
        found = _both(table, keys, parts.left, parts.right)
        found["geometry"] = pa.array(list(shapely.to_wkb(parts.shapes)), pa.binary())
        found["area_m2"] = pa.array(parts.area_m2)
        return pa.table(found)

    return dealt.applyInArrow(judge, schema)


def uncovered(
    spark: SparkSession, frame: Any, keys: list[str], geometry: str, cover: Any, cover_geometry: str
) -> Any:
    """Of each shape that the union of `cover` does not hold: how much of it, by area, length and number of points."""
    from pyspark.sql.functions import sum as total
    from pyspark.sql.types import DoubleType, StructField, StructType

    measures = ("area_m2", "length_m", "points")
    rows = frame.select(*keys, geometry)
    fields = [*(rows.schema[name] for name in keys), *(StructField(name, DoubleType()) for name in measures)]

    def judge(ours: pa.Table, theirs: pa.Table, box: Any) -> pa.Table:
        shapes = _within(sound(ours.column(geometry)), box)
        left = rest_of(shapes, sound(theirs.column(cover_geometry)))
        points = np.where(shapely.get_dimensions(left) == 0, shapely.get_num_geometries(left), 0)
        found = pa.table(
            {
                **{name: ours.column(name) for name in keys},
                "area_m2": pa.array(area_m2(left)),
                "length_m": pa.array(np.where(shapely.get_dimensions(left) == 1, length_m(left), 0.0)),
                "points": pa.array(points.astype(float)),
            }
        )
        return found.filter(pa.array(~shapely.is_missing(left) & ~shapely.is_empty(left)))

    cover = cover.select(cover_geometry)
    found = _by_tiles(spark, (rows, geometry), (cover, cover_geometry), judge, StructType(fields))
    return found.groupBy(*(f"`{name}`" for name in keys)).agg(*(total(name).alias(name) for name in measures))


def gaps(
    spark: SparkSession,
    outer: Any,
    keys: list[str],
    outer_geometry: str,
    cover: Any,
    geometry: str,
    tolerance_m2: float,
) -> Any:
    """What the union of `cover` leaves out of each outer shape, as polygons of more than so much area."""
    from pyspark.sql.types import BinaryType, DoubleType, StructField, StructType

    rows = outer.select(*keys, outer_geometry)
    fields = [*(rows.schema[name] for name in keys), StructField("geometry", BinaryType())]

    def judge(ours: pa.Table, theirs: pa.Table, box: Any) -> pa.Table:
        shapes = polygonal(_within(sound(ours.column(outer_geometry)), box))
        pieces, owner = polygons_of(rest_of(shapes, sound(theirs.column(geometry))))
        # Slivers by rounding go at once, and there are many; at the tile's border one may be a part of more.
        kept = (area_m2(pieces) > tolerance_m2) | ~shapely.contains_properly(box, pieces)
        found = ours.select(keys).take(pa.array(owner[kept]))
        return found.append_column("geometry", pa.array(list(shapely.to_wkb(pieces[kept])), pa.binary()))

    pieces = _by_tiles(
        spark, (rows, outer_geometry), (cover.select(geometry), geometry), judge, StructType(fields)
    )
    schema = StructType([*fields, StructField("area_m2", DoubleType())])

    def apart(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            polygons, owner = polygons_of(shapes_of(table.column("geometry")))
            areas = area_m2(polygons)
            large = areas > tolerance_m2
            found = table.select(keys).take(pa.array(owner[large]))
            found = found.append_column(
                "geometry", pa.array(list(shapely.to_wkb(polygons[large])), pa.binary())
            )
            yield from found.append_column("area_m2", pa.array(areas[large])).to_batches()

    # A gap may lie across tiles. Few pieces are left.
    whole = dissolve(spark, pieces, keys, tasks=spark.sparkContext.defaultParallelism)
    return whole.drop("shape_count").mapInArrow(apart, schema)


def rest_of(shapes: Any, cover: Any) -> Any:
    """What the union of `cover` leaves of each shape; none where it leaves nothing."""
    shapely.prepare(cover)
    ours, theirs = _pairs(shapes, cover)
    rest = np.array(shapes, dtype=object)
    rest[ours[shapely.covers(cover[theirs], shapes[ours])]] = None
    is_left = ~shapely.is_missing(rest[ours])
    ours, theirs = ours[is_left], theirs[is_left]
    for here in np.split(np.arange(len(ours)), np.flatnonzero(ours[1:] != ours[:-1]) + 1):
        if len(here):
            rest[ours[here[0]]] = _rest(shapes[ours[here[0]]], cover[theirs[here]])
    rest[shapely.is_empty(rest)] = None
    return rest


def _rest(shape: Any, cover: Any) -> Any:
    if shapely.get_dimensions(shape) == _AREA:
        # Of a larger shape only the part at hand is united with others; smaller ones stay whole: cuts leave slivers by rounding.
        is_larger = extents(cover) > extents(shape)
        near = cover.copy()
        near[is_larger] = intersections(np.full(int(is_larger.sum()), shape), cover[is_larger])
        held = union(polygonal(near))
        return shape if held is None else shapely.difference(shape, held)
    # Of lines a part may lie beside the whole, by rounding: none is taken.
    for other in cover:
        shape = shapely.difference(shape, other)
    return shape


def sound(column: Any) -> Any:
    """Shapes of a column; GEOS would refuse invalid ones, so these are made valid."""
    shapes = shapes_of(column)
    wrong = ~shapely.is_valid(shapes)
    shapes[wrong] = shapely.make_valid(shapes[wrong])
    return shapes


def _pairs(shapes: Any, cover: Any) -> tuple[Any, Any]:
    theirs, ours = shapely.STRtree(shapes).query(cover, predicate="intersects")
    order = np.argsort(ours, kind="stable")
    return ours[order], theirs[order]


def duplicates(spark: SparkSession, frame: Any, keys: list[str], geometry: str) -> Any:
    """Rows whose shape is, as a set of points, that of another row: its keys, and those of the other."""
    from pyspark.sql.functions import broadcast
    from pyspark.sql.types import DoubleType, StructField, StructType

    rows = frame.select(*keys, geometry)
    boxed = StructType([*rows.schema.fields, *(StructField(name, DoubleType()) for name in _BOX)])
    schema = StructType([*(rows.schema[name] for name in keys), *_others(rows, keys)])

    def with_box(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            bounds = shapely.bounds(shapes_of(table.column(geometry)))
            for name, values in zip(_BOX, bounds.T, strict=True):
                table = table.append_column(name, pa.array(values))
            yield from table.filter(pa.array(~np.isnan(bounds[:, 0]))).to_batches()

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if held:
            table = pa.Table.from_batches(held)
            first, second = same_shapes(sound(table.column(geometry)))
            yield from pa.table(_both(table, keys, second, first)).to_batches()

    # Equal shapes have equal boxes: few rows are left after that.
    keyed = rows.mapInArrow(with_box, boxed)
    alike = keyed.groupBy(*_BOX).count().where("count > 1").drop("count")
    candidates = keyed.join(broadcast(alike), list(_BOX), "left_semi")
    tasks = 4 * spark.sparkContext.defaultParallelism
    return candidates.repartition(tasks, *_BOX).mapInArrow(judge, schema)


def same_shapes(shapes: Any) -> tuple[Any, Any]:
    """Numbers of a shape and of a later one that is the same set of points, however it is written."""
    bounds = shapely.bounds(shapes)
    texts: dict[bytes, int] = {}
    first = np.array(
        [texts.setdefault(text, row) for row, text in enumerate(shapely.to_wkb(shapely.normalize(shapes)))],
        dtype=np.int64,
    )
    # Of those that are written alike one is compared with the others in its box.
    rows = np.fromiter(texts.values(), np.int64)
    boxes, box = np.unique(bounds[rows], axis=0, return_inverse=True)
    order = np.argsort(box, kind="stable")
    for those in np.split(rows[order], np.cumsum(np.bincount(box, minlength=len(boxes)))[:-1]):
        for number, row in enumerate(those[1:], 1):
            equal = those[:number][shapely.equals(shapes[those[:number]], shapes[row])]
            if len(equal):
                first[first == row] = first[equal[0]]
    second = np.flatnonzero(first != np.arange(len(first)))
    return first[second], second


def _by_tiles(
    spark: SparkSession, ours: tuple[Any, str], theirs: tuple[Any, str], judge: Any, schema: Any
) -> Any:
    """`judge` gets the rows of both sides in a tile, and the tile's box."""
    made, (left, right) = deal_out(spark, ours, theirs)
    boxes = leaf_boxes(made)

    def judge_tile(our_rows: pa.Table, their_rows: pa.Table) -> pa.Table:
        # A tile in which only the other side has shapes.
        box = boxes[our_rows.column(TILE)[0].as_py()] if our_rows.num_rows else shapely.Polygon()
        return judge(our_rows, their_rows, box).select(schema.names)

    return left.cogroup(right).applyInArrow(judge_tile, schema)


def _within(shapes: Any, box: Any) -> Any:
    """Shapes, of those that leave the box only what is in it."""
    shapely.prepare(box)
    cut = ~shapely.covers(box, shapes) & ~shapely.is_missing(shapes)
    inside = intersections(shapes[cut], np.full(int(cut.sum()), box))
    # What only touches the box is a matter of the next one.
    inside[shapely.get_dimensions(inside) < shapely.get_dimensions(shapes[cut])] = None
    shapes[cut] = inside
    return shapes


def _others(rows: Any, keys: list[str]) -> list[Any]:
    from pyspark.sql.types import StructField

    return [StructField(OTHER + name, rows.schema[name].dataType) for name in keys]


def _both(table: pa.Table, keys: list[str], ours: Any, theirs: Any) -> dict[str, Any]:
    one, other = table.take(pa.array(ours)), table.take(pa.array(theirs))
    return {name: one.column(name) for name in keys} | {OTHER + name: other.column(name) for name in keys}
