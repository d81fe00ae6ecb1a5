"""Overlay: the common part of every pair of shapes that share area, by GEOS.

Only areas count: shapes that touch along a border or in a corner share none, and lines and points have none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely

from geostrata.geometry.arrays import by_halves
from geostrata.spatial.areas import area_m2, polygons_of

_POLYGONAL = (shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON)
Choice = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Parts:
    """Of each pair, by left and right number: the common part, its area, and the areas of both shapes."""

    left: Any
    right: Any
    shapes: Any
    area_m2: Any
    left_m2: Any
    right_m2: Any

    def shares(self) -> tuple[Any, Any]:
        return np.minimum(self.area_m2 / self.left_m2, 1.0), np.minimum(self.area_m2 / self.right_m2, 1.0)


class Overlay:
    """One side, the right, ready for any batch of the other."""

    def __init__(self, shapes: Any) -> None:
        self._shapes = polygonal(shapes)

    def parts(self, left: Any, min_area_m2: float = 0.0, wanted: Choice | None = None) -> Parts:
        """Common parts of more than `min_area_m2`; `wanted` chooses among pairs by their numbers."""
        left = polygonal(left)
        ours, theirs = self._near(left)
        if wanted is not None:
            chosen = wanted(ours, theirs)
            ours, theirs = ours[chosen], theirs[chosen]
        numbers, place = np.unique(ours, return_inverse=True)
        left_m2, right_m2 = area_m2(left[numbers])[place], self._areas[theirs]
        shapes, is_left, is_right = common_parts(left, self._shapes, ours, theirs)
        areas = np.where(is_left, left_m2, right_m2)
        is_new = ~is_left & ~is_right
        areas[is_new] = area_m2(shapes[is_new])
        found = areas > min_area_m2
        kept = (column[found] for column in (ours, theirs, shapes, areas, left_m2, right_m2))
        return Parts(*kept)

    def _near(self, left: Any) -> tuple[Any, Any]:
        """Pairs that meet. The larger shapes are prepared and ask, and what they hold can be told without an overlay."""
        if _mean_extent(left) > _mean_extent(self._shapes):
            shapely.prepare(left)
            ours, theirs = self._tree.query(left, predicate="intersects")
        else:
            shapely.prepare(self._shapes)
            theirs, ours = shapely.STRtree(left).query(self._shapes, predicate="intersects")
        return ours, theirs

    @cached_property
    def _tree(self) -> Any:
        return shapely.STRtree(self._shapes)

    @cached_property
    def _areas(self) -> Any:
        return area_m2(self._shapes)


def polygonal(shapes: Any) -> Any:
    """Each shape's polygons; none where it has no area."""
    shapes = np.array(shapes, dtype=object)
    is_other = ~np.isin(shapely.get_type_id(shapes), _POLYGONAL)
    others = shapes[is_other]
    polygons, owner = polygons_of(others)
    kept = np.full(len(others), None)
    owners = np.unique(owner)
    if len(polygons):
        kept[owners] = shapely.multipolygons(polygons, indices=np.searchsorted(owners, owner))
    shapes[is_other] = kept
    shapes[shapely.is_empty(shapes)] = None
    return shapes


def common_parts(left: Any, right: Any, ours: Any, theirs: Any) -> tuple[Any, Any, Any]:
    """The common area of each pair (what `shapely.intersection` says, without lines and points), and whether it is the whole left
    shape, or the whole right one."""
    a, b = left[ours], right[theirs]
    found = np.full(len(ours), None)
    is_within = shapely.contains_properly(b, a)
    is_around = ~is_within
    is_around[is_around] = shapely.contains_properly(a[is_around], b[is_around])
    found[is_within], found[is_around] = a[is_within], b[is_around]
    border = np.flatnonzero(~is_within & ~is_around)
    # By shape of the right side: the processor keeps one outline in its memory.
    border = border[np.argsort(theirs[border], kind="stable")]
    found[border] = polygonal(intersections(a[border], b[border]))
    return found, is_within, is_around


def intersections(a: Any, b: Any) -> Any:
    """GEOS refuses some invalid shapes: those are made valid first."""
    rows = np.arange(len(a)).astype(object)
    found = by_halves(lambda some: shapely.intersection(a[some.astype(int)], b[some.astype(int)]), rows, None)
    refused = shapely.is_missing(found) & ~shapely.is_missing(a) & ~shapely.is_missing(b)
    found[refused] = shapely.intersection(shapely.make_valid(a[refused]), shapely.make_valid(b[refused]))
    return found


def extents(shapes: Any) -> Any:
    """The area of each shape's box, in square degrees; NaN where there is none."""
    west, south, east, north = np.moveaxis(shapely.bounds(shapes), -1, 0)
    return (east - west) * (north - south)


def _mean_extent(shapes: Any) -> float:
    known = extents(shapes[~shapely.is_missing(shapes)])
    return float(known.mean()) if len(known) else 0.0
