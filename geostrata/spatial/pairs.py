"""Which pairs of two sets of shapes meet: exactly, by GEOS, with the right side indexed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import shapely

from geostrata.spatial.grid import CELLS, PointGrid, cells_for
from geostrata.spatial.wkb import point_coordinates, shapes_of

PREDICATES = ("contains", "within", "intersects")
_POLYGONAL = (shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON)


class ShapeIndex:
    """Of the right side. `predicate` is said of the left: contains, within or intersects what is on the right. `points` is how many
    there are on the left, where that is known: fewer need less of an index."""

    def __init__(self, shapes: Any, predicate: str, points: int | None = None) -> None:
        self._shapes, self._predicate = shapes, predicate
        self._cells = CELLS if points is None else cells_for(points)
        self._is_polygonal = np.isin(shapely.get_type_id(shapes), _POLYGONAL)

    def find(self, column: Any) -> tuple[Any, Any]:
        """Pairs of row numbers, left and right, sorted, for a column of WKB on the left."""
        places = point_coordinates(column)
        if places is not None:
            return self._find_points(*places)
        shapes = shapes_of(column)
        is_point = shapely.get_type_id(shapes) == shapely.GeometryType.POINT
        is_point &= ~shapely.is_empty(shapes)
        points, others = np.flatnonzero(is_point), np.flatnonzero(~is_point)
        near, found = self._find_points(shapely.get_x(shapes[points]), shapely.get_y(shapes[points]))
        far, more = self._find_shapes(shapes[others])
        return _sorted(np.append(points[near], others[far]), np.append(found, more))

    def _find_points(self, x: Any, y: Any) -> tuple[Any, Any]:
        if not len(x):
            return _NOTHING
        # Points contain points only; for the other predicates the grid knows all polygons.
        rest = self._others if self._predicate != "contains" else self._everything
        left, right = rest.find(shapely.points(x, y)) if len(rest.numbers) else _NOTHING
        if self._predicate == "contains":
            return left, right
        near, found = self._grid.find(x, y, includes_border=self._predicate == "intersects")
        return _sorted(np.append(near, left), np.append(found, right)) if len(left) else (near, found)

    def _find_shapes(self, shapes: Any) -> tuple[Any, Any]:
        return self._everything.find(shapes)

    @cached_property
    def _grid(self) -> PointGrid:
        return PointGrid.of(np.where(self._is_polygonal, self._shapes, None), self._cells)

    @cached_property
    def _everything(self) -> _Tree:
        return _Tree(self._shapes, np.arange(len(self._shapes)), self._predicate)

    @cached_property
    def _others(self) -> _Tree:
        """What the grid does not know."""
        numbers = np.flatnonzero(~self._is_polygonal & ~shapely.is_missing(self._shapes))
        return _Tree(self._shapes[numbers], numbers, self._predicate)


class _Tree:
    def __init__(self, shapes: Any, numbers: Any, predicate: str) -> None:
        self.numbers = numbers
        self._shapes, self._predicate = shapes, predicate
        self._tree = shapely.STRtree(shapes)

    def find(self, shapes: Any) -> tuple[Any, Any]:
        if self._predicate == "contains":
            # The tree prepares each left shape for the few that come near it.
            left, right = self._tree.query(shapes, predicate="contains")
        else:
            left, right = self._tree.query(shapes)
            # Prepared once on the right, where the large shapes are; in its order, so that memory is read once.
            order = np.argsort(right, kind="stable")
            left, right = left[order], right[order]
            shapely.prepare(self._shapes)
            test = shapely.intersects if self._predicate == "intersects" else shapely.contains
            is_pair = test(self._shapes[right], shapes[left])
            left, right = left[is_pair], right[is_pair]
        return _sorted(left, self.numbers[right])


_NOTHING = (np.empty(0, np.int64), np.empty(0, np.int64))


def _sorted(left: Any, right: Any) -> tuple[Any, Any]:
    order = np.lexsort((right, left))
    return left[order], right[order]
