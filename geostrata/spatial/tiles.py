"""The join of two large sides: both are dealt out by tiles, so that every pair that may meet comes together somewhere.

A shape goes to every tile that its box touches; a pair that meets in several tiles is reported by one of them: the tile in
which the boxes' common part begins. Where who meets nobody is wanted as well, one tile of each row on the left, its home, gives the row
itself too: it stays if nothing else came of it. So each side is read once, and a row has one number. Tiles hold about the same number of shapes each, wherever those are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from geostrata.spatial.batches import gathered
from geostrata.spatial.boxes import TURNS, grown, turned
from geostrata.spatial.join import Columns, Indexed, JoinSpec, make_indexed, size_in_bytes
from geostrata.spatial.wkb import shapes_of

# Of both sides in one tile, in bytes: what a worker holds at a time.
TILE_BYTES = 16 << 20
_SAMPLE = 20_000
# A row of a few numbers and a point. Wider rows only make the sample smaller.
_LEAST_ROW = 64
_TILE, _ROW, _HOME, _COUNT = "_tile", "_left_row", "_is_home", "_rows"


@dataclass(frozen=True)
class Tiles:
    """A box is split where the middle of a sample lies, across and along in turn, until there are enough leaves."""

    axis: Any
    at: Any
    # Children of a split: the next splits, or -1 - leaf.
    low: Any
    high: Any

    @property
    def count(self) -> int:
        return len(self.axis) + 1

    @classmethod
    def of(cls, centres: Any, count: int) -> Tiles:
        made: list[list[Any]] = []
        leaves = 0

        def split(points: Any, wanted: int, axis: int) -> int:
            nonlocal leaves
            if wanted <= 1 or len(points) < 2:
                leaves += 1
                return -leaves
            number = len(made)
            middle = float(np.median(points[:, axis]))
            node: list[Any] = [axis, middle, 0, 0]
            made.append(node)
            is_low = points[:, axis] < middle
            node[2] = split(points[is_low], wanted // 2, 1 - axis)
            node[3] = split(points[~is_low], wanted - wanted // 2, 1 - axis)
            return number

        root = split(centres, count, 0)
        if root < 0:
            return cls(*(np.empty(0) for _ in range(4)))
        columns = list(zip(*made, strict=True))
        return cls(np.array(columns[0]), np.array(columns[1]), np.array(columns[2]), np.array(columns[3]))

    def of_boxes(self, boxes: Any) -> tuple[Any, Any]:
        """Numbers of boxes and of the tiles they touch; a box without bounds touches none."""
        numbers: list[Any] = []
        tiles: list[Any] = []
        known = np.flatnonzero(~np.isnan(boxes).any(axis=1))
        waiting = [(0 if len(self.axis) else -1, known)]
        while waiting:
            node, those = waiting.pop()
            if not len(those):
                continue
            if node < 0:
                numbers.append(those)
                tiles.append(np.full(len(those), -1 - node))
                continue
            axis, at = int(self.axis[node]), self.at[node]
            waiting.append((int(self.low[node]), those[boxes[those, axis] < at]))
            waiting.append((int(self.high[node]), those[boxes[those, axis + 2] >= at]))
        nothing = np.empty(0, np.int64)
        return np.concatenate([nothing, *numbers]), np.concatenate([nothing, *tiles])

    def of_points(self, points: Any) -> Any:
        """The tile of each point, in the order of the points."""
        numbers, tiles = self.of_boxes(np.column_stack([points, points]))
        found = np.full(len(points), -1)
        found[numbers] = tiles
        return found


def joined_by_tiles(left: Any, right: Any, spec: JoinSpec, columns: Columns, tiles: Tiles) -> Any:
    from pyspark.sql import Window
    from pyspark.sql.functions import col, count, lit, monotonically_increasing_id
    from pyspark.sql.types import BooleanType, LongType, StructField, StructType

    metres, is_inner = spec.distance_m, spec.how == "inner"
    dealt_left = _dealt(
        left.withColumn(_ROW, monotonically_increasing_id()), columns.left_geometry, tiles, None, not is_inner
    )
    dealt_right = _dealt(right, columns.right_geometry, tiles, metres)
    own = [StructField(_ROW, LongType()), StructField(_HOME, BooleanType())]
    schema = StructType([*columns.schema.fields, *([] if is_inner else own)])

    def join_tile(ours: pa.Table, theirs: pa.Table) -> pa.Table:
        indexed = make_indexed(theirs, spec, columns)
        left, right = _pairs_of_tile(indexed, ours, theirs, tiles, columns, metres)
        if is_inner:
            return indexed.rows(ours, left, right).select(schema.names)
        home = np.flatnonzero(ours.column(_HOME).to_numpy(zero_copy_only=False))
        # Of an anti join one pair of a row is as good as many.
        left, right = (np.unique(left), right[:0]) if spec.how == "anti" else (left, right)
        numbers = np.append(left, home)
        found = indexed.rows(ours, numbers, np.append(right, np.full(len(home), -1)))
        found = found.append_column(_ROW, ours.column(_ROW).take(pa.array(numbers)))
        return found.append_column(_HOME, pa.array(np.arange(len(numbers)) >= len(left))).select(schema.names)

    found = dealt_left.groupBy(_TILE).cogroup(dealt_right.groupBy(_TILE)).applyInArrow(join_tile, schema)
    if is_inner:
        return found
    # Only now it is known who met nobody in any tile.
    found = found.withColumn(_COUNT, count(lit(1)).over(Window.partitionBy(_ROW)))
    lonely = col(_HOME) & (col(_COUNT) == 1)
    kept = found.where(lonely if spec.how == "anti" else ~col(_HOME) | lonely)
    return kept.select(*(f"`{name}`" for name in columns.schema.names))


def _pairs_of_tile(
    indexed: Indexed, ours: pa.Table, theirs: pa.Table, tiles: Tiles, columns: Columns, metres: float | None
) -> tuple[Any, Any]:
    geometry = ours.column(columns.left_geometry)
    left, right = indexed.index.find(geometry)
    if len(left):
        boxes = shapely.bounds(shapes_of(geometry))[left]
        others = grown(shapely.bounds(shapes_of(theirs.column(columns.right_geometry))), metres)[right]
        is_ours = tiles.of_points(_begin(boxes, others)) == ours.column(_TILE)[0].as_py()
        left, right = left[is_ours], right[is_ours]
    return left, right


def _begin(boxes: Any, others: Any) -> Any:
    """Where the common part of two boxes begins; where they meet only beyond the antimeridian, after a turn."""
    begin = np.full((len(boxes), 2), np.nan)
    for turn in TURNS:
        turned = np.add(others, (turn, 0, turn, 0))
        low, high = np.maximum(boxes[:, :2], turned[:, :2]), np.minimum(boxes[:, 2:], turned[:, 2:])
        is_first = np.isnan(begin[:, 0]) & (low <= high).all(axis=1)
        begin[is_first] = low[is_first]
    return begin


def _dealt(frame: Any, geometry: str, tiles: Tiles, metres: float | None, with_home: bool = False) -> Any:
    """Every row as often as it touches tiles; with a home, in one of them, also a row that touches none."""
    from pyspark.sql.types import BooleanType, LongType, StructField, StructType

    own = [StructField(_TILE, LongType()), *([StructField(_HOME, BooleanType())] if with_home else [])]
    schema = StructType([*frame.schema.fields, *own])

    def deal(batches: Any) -> Any:
        for table in gathered(batches):
            boxes = grown(shapely.bounds(shapes_of(table.column(geometry))), metres)
            found = [tiles.of_boxes(those) for those in turned(boxes, metres)]
            numbers, those = (np.concatenate(side) for side in zip(*found, strict=True))
            if with_home:
                nowhere = np.setdiff1d(np.arange(table.num_rows), numbers)
                numbers = np.append(numbers, nowhere)
                # Any tile will do; all in one would be too many for it.
                those = np.append(those, nowhere % tiles.count)
            once = np.unique(np.column_stack([numbers, those]), axis=0).astype(np.int64)
            dealt = table.take(pa.array(once[:, 0])).append_column(_TILE, pa.array(once[:, 1]))
            if with_home:
                is_first = np.append(True, once[1:, 0] != once[:-1, 0]) if len(once) else np.empty(0, bool)
                dealt = dealt.append_column(_HOME, pa.array(is_first))
            yield from dealt.to_batches()

    return frame.mapInArrow(deal, schema)


def tiles_for(left: Any, right: Any, columns: Columns) -> Tiles:
    sizes = size_in_bytes(left), size_in_bytes(right)
    sides = ((left, columns.left_geometry), (right, columns.right_geometry))
    samples = [_centres(frame, name, size) for (frame, name), size in zip(sides, sizes, strict=True)]
    return Tiles.of(np.concatenate(samples), -(-sum(sizes) // TILE_BYTES))


def _centres(frame: Any, geometry: str, size: int) -> Any:
    share = min(1.0, _SAMPLE / max(1, size // _LEAST_ROW))
    sample = frame.select(geometry).sample(share, seed=1).toArrow()
    boxes = shapely.bounds(shapes_of(sample.column(geometry)))
    boxes = boxes[~np.isnan(boxes).any(axis=1)]
    return (boxes[:, :2] + boxes[:, 2:]) / 2
