"""Shapes of several relations dealt out by tiles, so that what may meet comes together in some worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from geostrata.spatial import tiles
from geostrata.spatial.join import size_in_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TILE = tiles._TILE
# Beyond every shape.
_WORLD = (-720.0, -180.0, 720.0, 180.0)


def deal_out(spark: SparkSession, *sides: tuple[Any, str]) -> tuple[tiles.Tiles, list[Any]]:
    """The tiles, and each frame grouped by them; `sides` are frames with the names of their geometry."""
    sizes = [size_in_bytes(frame) for frame, _ in sides]
    samples = [tiles._centres(*side, size) for side, size in zip(sides, sizes, strict=True)]
    count = max(4 * spark.sparkContext.defaultParallelism, -(-sum(sizes) // tiles.TILE_BYTES))
    made = tiles.Tiles.of(np.concatenate(samples), count)
    return made, [tiles._dealt(*side, made, None).groupBy(TILE) for side in sides]


def leaf_boxes(made: tiles.Tiles) -> dict[int, Any]:
    """The box of each tile, by number."""
    found: dict[int, Any] = {}
    waiting: list[tuple[int, list[float]]] = [(0 if len(made.axis) else -1, list(_WORLD))]
    while waiting:
        node, box = waiting.pop()
        if node < 0:
            found[-1 - node] = shapely.box(*box)
            continue
        axis, at = int(made.axis[node]), float(made.at[node])
        low, high = box.copy(), box.copy()
        low[axis + 2] = high[axis] = at
        waiting += [(int(made.low[node]), low), (int(made.high[node]), high)]
    return found
