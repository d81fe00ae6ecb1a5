"""Which part of a join must be computed again: H3 cells in which a point or a shape has changed, as conditions for Delta.

Cells of one resolution that share a parent follow each other as numbers, so that a parent is one range of them, which Delta
compares with the least and the greatest cell of a file.
"""

from __future__ import annotations

from typing import Any

import h3.api.basic_int as h3
import numpy as np

from geostrata.spatial.boxes import grown, surroundings, turned
from geostrata.spatial.cells import covers, is_valid, parent_cells, reach_bounds, resolutions

# More ranges make conditions that take longer to judge than they save: then parents stand in for their children.
MAX_RANGES = 200


def touched_cells(points: Any, shapes: Any, resolution: int, metres: float | None = None) -> list[int]:
    """Cells, sorted: those given of points, and of shapes, or of all within some metres of them, every one that they overlap,
    with its neighbours, so that no rounding matters."""
    cells = {int(cell) for cell in points}
    for cover in covers(surroundings(shapes, metres), resolution, "overlaps"):
        cells.update(near for cell in ([] if cover is None else cover) for near in h3.grid_disk(int(cell), 1))
    return _coarsened(sorted(cells), resolution)


def parents_of(stored: Any, resolution: int) -> Any:
    """The cells, each once, in which stored ones lie; what is no cell, or a coarser one, lies in none."""
    found = np.unique(parent_cells(stored[resolutions(stored) >= resolution], resolution))
    return found[is_valid(found)]


def _coarsened(cells: list[int], resolution: int) -> list[int]:
    while len(_merged(cells, resolution)) > MAX_RANGES and resolution > 0:
        resolution -= 1
        cells = sorted({h3.cell_to_parent(cell, resolution) for cell in cells})
    return cells


def rows_condition(cells: list[int], column: str, stored: int) -> str:
    """On a column of cells of a finer (or the same) resolution: that they lie in one of these."""
    if not cells:
        return "false"
    ranges = [f"{column} between {low} and {high}" for low, high in _merged(cells, stored)]
    return f"({' or '.join(ranges)})"


def shapes_condition(cells: list[int], metres: float | None = None) -> str:
    """On the boxes of shapes: that they may hold a place, or come within so many metres of one, whose cell descends from one of these."""
    boxes = reach_bounds(np.array(cells, dtype=np.int64)) if cells else np.empty((0, 4))
    boxes = _few(_on_map(grown(boxes, metres)))
    return _any_box(np.unique(np.concatenate(turned(boxes, metres)), axis=0))


def _on_map(boxes: Any) -> Any:
    """The boxes, and once more, a turn away, those that the antimeridian cuts."""
    over = [boxes[boxes[:, 0] < -180] + [360, 0, 360, 0], boxes[boxes[:, 2] > 180] - [360, 0, 360, 0]]
    return np.concatenate([boxes, *over])


def _few(boxes: Any) -> Any:
    """One box around all where it is hardly larger than they are: a short condition is planned and judged sooner."""
    if not len(boxes):
        return boxes
    around = np.append(boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0))[None, :]
    areas = [np.prod(some[:, 2:] - some[:, :2], axis=1).sum() for some in (around, boxes)]
    return around if areas[0] <= 2 * areas[1] else boxes


def _any_box(boxes: Any) -> str:
    if not len(boxes):
        return "false"
    near = [
        f"bbox.xmin <= {east!r} and bbox.xmax >= {west!r} and bbox.ymin <= {north!r} and bbox.ymax >= {south!r}"
        for west, south, east, north in boxes.tolist()
    ]
    return f"(({') or ('.join(near)}))"


def _merged(cells: list[int], stored: int) -> list[tuple[int, int]]:
    """Ranges of their children at the stored resolution; those that follow each other are one."""
    ranges: list[tuple[int, int]] = []
    for cell in cells:
        low, high = _children(cell, stored)
        if ranges and _follows(ranges[-1][1], low, stored):
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    return ranges


def _children(cell: int, stored: int) -> tuple[int, int]:
    resolution = h3.get_resolution(cell)
    shift = 3 * (15 - stored)
    free = 3 * (stored - resolution)
    base = (cell & ~(0xF << 52)) | (stored << 52)
    low = base & ~(((1 << free) - 1) << shift)
    digits = sum(6 << (3 * digit) for digit in range(stored - resolution))
    return low, low | (digits << shift)


def _follows(high: int, low: int, stored: int) -> bool:
    """Whether no cell lies between: numbers of cells count in digits from 0 to 6."""
    shift = 3 * (15 - stored)
    high, low = high >> shift, low >> shift
    for _ in range(stored):
        if high & 7 != 6 or low & 7 != 0:
            break
        high, low = high >> 3, low >> 3
    return low == high + 1
