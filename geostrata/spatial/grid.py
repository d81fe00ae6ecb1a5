"""Which shapes a point lies in, by a grid laid over the shapes.

A cell that no outline comes near is wholly inside or wholly outside of a shape: a point in it needs no test. In the others, and
only there, GEOS decides on the shape itself. So the grid saves work and has no say in the answer.

"Near" is a millionth of a cell's width: far more than rounding can move a point from one cell to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

# More cells leave fewer points to GEOS and take longer to make: half as many as points was quickest, a million for two million.
CELLS = 1 << 20
_FEWEST_CELLS = 1 << 12
_NEAR = 1e-6
_BLOCK = 1 << 15


@dataclass(frozen=True)
class PointGrid:
    """`codes`, one a cell: 0 nothing here; n > 0 inside shape n - 1 and near no other; -n the n-th list of `starts`."""

    shapes: Any
    origin: tuple[float, float]
    scale: tuple[float, float]
    size: tuple[int, int]
    codes: Any
    starts: Any
    members: Any
    is_inside: Any

    @classmethod
    def of(cls, shapes: Any, cells: int = CELLS) -> PointGrid:
        """`shapes`: polygons and multipolygons; of others, and of missing ones, nothing is found."""
        shapes = np.asarray(shapes, dtype=object)
        bounds = shapely.bounds(shapes)
        west, south, east, north = _extent(bounds)
        width, height = max(east - west, 1e-9), max(north - south, 1e-9)
        across = int(np.clip(round(np.sqrt(cells * width / height)), 1, cells))
        up = max(1, cells // across)
        # The outermost cells stay empty: whatever lies outside is moved into them.
        scale = (across / width, up / height)
        origin = (west - 1 / scale[0], south - 1 / scale[1])
        size = (across + 3, up + 3)
        shape, cell, inside = _members(shapes, origin, scale, size)
        return cls(shapes, origin, scale, size, *_codes(shape, cell, inside, size[0] * size[1]))

    def find(self, x: Any, y: Any, includes_border: bool) -> tuple[Any, Any]:
        """Pairs of a point's number and a shape's, by point."""
        cell = self._cells(x, y)
        code = self.codes[cell]
        clear = np.flatnonzero(code > 0)
        mixed = np.flatnonzero(code < 0)
        lists = -code[mixed] - 1
        counts = self.starts[lists + 1] - self.starts[lists]
        points = np.repeat(mixed, counts)
        entries = np.repeat(self.starts[lists] - np.cumsum(counts) + counts, counts) + np.arange(len(points))
        shapes, sure = self.members[entries], self.is_inside[entries]
        unsure = np.flatnonzero(~sure)
        test = shapely.intersects_xy if includes_border else shapely.contains_xy
        # By shape: GEOS stays with one outline, and the processor with its memory.
        unsure = unsure[np.argsort(shapes[unsure], kind="stable")]
        at = points[unsure]
        sure[unsure] = test(self.shapes[shapes[unsure]], x[at], y[at])
        points = np.concatenate([clear, points[sure]])
        shapes = np.concatenate([code[clear] - 1, shapes[sure]])
        order = np.argsort(points, kind="stable")
        return points[order], shapes[order]

    def _cells(self, x: Any, y: Any) -> Any:
        # A missing place compares as false and lands in the empty corner.
        with np.errstate(invalid="ignore"):
            column = np.clip(np.nan_to_num((x - self.origin[0]) * self.scale[0]), 0, self.size[0] - 1)
            row = np.clip(np.nan_to_num((y - self.origin[1]) * self.scale[1]), 0, self.size[1] - 1)
        return row.astype(np.int64) * self.size[0] + column.astype(np.int64)


def cells_for(points: int) -> int:
    """How many cells to make for so many points."""
    return min(CELLS, max(_FEWEST_CELLS, points // 2))


def _extent(bounds: Any) -> tuple[float, float, float, float]:
    known = bounds[~np.isnan(bounds).any(axis=1)]
    if not len(known):
        return 0.0, 0.0, 1.0, 1.0
    return (*known[:, :2].min(axis=0), *known[:, 2:].max(axis=0))


def _members(
    shapes: Any, origin: tuple[float, float], scale: tuple[float, float], size: tuple[int, int]
) -> tuple[Any, Any, Any]:
    """Of each shape the cells that it is in: shape, cell, and whether the whole cell is inside."""
    shape, cell = _outline_cells(shapes, origin, scale, size)
    row, column = np.divmod(cell, size[0])
    # Between two outline cells of one row the cells are all inside or all outside: one test tells.
    gap = np.flatnonzero((shape[1:] == shape[:-1]) & (row[1:] == row[:-1]) & (column[1:] > column[:-1] + 1))
    middle_x = origin[0] + (column[gap] + 1.5) / scale[0]
    middle_y = origin[1] + (row[gap] + 0.5) / scale[1]
    shapely.prepare(shapes)
    gap = gap[shapely.contains_xy(shapes[shape[gap]], middle_x, middle_y)]
    lengths = column[gap + 1] - column[gap] - 1
    starts = row[gap] * size[0] + column[gap] + 1
    within = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    is_inside = np.zeros(len(shape) + len(within), dtype=bool)
    is_inside[len(shape) :] = True
    return (
        np.concatenate([shape, np.repeat(shape[gap], lengths)]),
        np.concatenate([cell, within]),
        is_inside,
    )


def _outline_cells(
    shapes: Any, origin: tuple[float, float], scale: tuple[float, float], size: tuple[int, int]
) -> tuple[Any, Any]:
    """Shapes, and cells that their outlines come near, in order, each pair once."""
    parts, shape = shapely.get_parts(shapes, return_index=True)
    rings, part = shapely.get_rings(parts, return_index=True)
    xy, ring = shapely.get_coordinates(rings, return_index=True)
    # In one number the shape stands before its cell. A grid has some million cells, which leaves room for 2^40 shapes.
    bits = (size[0] * size[1]).bit_length()
    owner = shape[part] << bits
    # In blocks that stay in the processor's cache; a block begins with the corner that ended the last.
    blocks = range(0, max(0, len(xy) - 1), _BLOCK)
    keys = [
        _block_cells(xy[at : at + _BLOCK + 1], ring[at : at + _BLOCK + 1], owner, origin, scale, size[0])
        for at in blocks
    ]
    # Shapes come one after the other, so these are runs that a stable sort merges: far quicker than numpy.unique with its hashes.
    found = _without_repeats(np.sort(np.concatenate([np.empty(0, np.int64), *keys]), kind="stable"))
    return found >> bits, found & ((1 << bits) - 1)


def _block_cells(
    xy: Any, ring: Any, owner: Any, origin: tuple[float, float], scale: tuple[float, float], columns: int
) -> Any:
    """The cells that the edges between these corners come near, each added to its ring's owner."""
    x, y = (xy[:, 0] - origin[0]) * scale[0], (xy[:, 1] - origin[1]) * scale[1]
    column, row = x.astype(np.int64), y.astype(np.int64)
    corners = owner[ring] + row * columns + column
    # An edge within a cell, or from one to the next, comes near no others, unless a corner is near a border.
    is_near = _is_near_border(x - column) | _is_near_border(y - row)
    is_plain = np.abs(np.diff(column)) + np.abs(np.diff(row)) <= 1
    is_plain &= ~(is_near[1:] | is_near[:-1])
    edge = np.flatnonzero(~is_plain & (ring[1:] == ring[:-1]))
    others = _cells_near(x[edge], y[edge], x[edge + 1], y[edge + 1], owner[ring[edge]], columns)
    # An outline stays in a cell for a while: that leaves little to sort.
    return np.append(_without_repeats(corners), others)


def _without_repeats(values: Any) -> Any:
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values


def _is_near_border(fraction: Any) -> Any:
    return np.abs(fraction - 0.5) > 0.5 - _NEAR


def _cells_near(x: Any, y: Any, end_x: Any, end_y: Any, owner: Any, columns: int) -> Any:
    """The cells that these edges come near, each added to its edge's owner."""
    # In steps no longer than a cell: such a piece is near four cells at most.
    steps = np.maximum(1, np.ceil(np.maximum(np.abs(end_x - x), np.abs(end_y - y)))).astype(np.int64)
    edge = np.repeat(np.arange(len(x)), steps)
    number = np.arange(len(edge)) - np.repeat(np.cumsum(steps) - steps, steps)
    begin, end = number / steps[edge], (number + 1) / steps[edge]
    across = _low_and_high(x[edge], (end_x - x)[edge], begin, end)
    up = _low_and_high(y[edge], (end_y - y)[edge], begin, end)
    keys = [owner[edge] + row * columns + column for row in up for column in across]
    # Most pieces are near one cell or two.
    return np.concatenate([keys[0], *(key[key != keys[0]] for key in keys[1:])])


def _low_and_high(start: Any, along: Any, begin: Any, end: Any) -> tuple[Any, Any]:
    first, last = start + along * begin, start + along * end
    low = np.floor(np.minimum(first, last) - _NEAR).astype(np.int64)
    return low, np.floor(np.maximum(first, last) + _NEAR).astype(np.int64)


def _codes(shape: Any, cell: Any, inside: Any, cells: int) -> tuple[Any, Any, Any, Any]:
    order = np.argsort(cell, kind="stable")
    shape, cell, inside = shape[order], cell[order], inside[order]
    is_first = np.ones(len(cell), dtype=bool)
    is_first[1:] = cell[1:] != cell[:-1]
    starts = np.flatnonzero(is_first)
    counts = np.diff(np.append(starts, len(cell)))
    is_clear = (counts == 1) & inside[starts]
    codes = np.zeros(cells, dtype=np.int32)
    codes[cell[starts[is_clear]]] = shape[starts[is_clear]] + 1
    lists = starts[~is_clear]
    codes[cell[lists]] = -np.arange(1, len(lists) + 1)
    sizes = counts[~is_clear]
    kept = np.repeat(~is_clear, counts)
    return codes, np.append(0, np.cumsum(sizes)), shape[kept], inside[kept]
