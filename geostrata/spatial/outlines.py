"""Shapes as edges on the spheroid, under trees of balls in space: what lies in a ball is no nearer than the ball.

In space there is no antimeridian and no pole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from geostrata.spatial.spheroid import EQUATOR_M, Pieces

# Children of a ball. Fewer make more rounds, more make wider ones.
_FAN = 4
_MULTIPLE = (
    shapely.GeometryType.MULTIPOINT,
    shapely.GeometryType.MULTILINESTRING,
    shapely.GeometryType.MULTIPOLYGON,
    shapely.GeometryType.GEOMETRYCOLLECTION,
)
# A ball round the outline of a wider shape may miss its inside.
_WIDE_DEGREES = 30.0


@dataclass(frozen=True)
class Balls:
    """Trees of balls, each round the middle of one of its leaves. The first nodes are the leaves, in their order; `root` is -1
    where an owner has none."""

    centre: Any
    radius: Any
    first_child: Any
    children: Any
    root: Any

    @classmethod
    def of(cls, centre: Any, radius: Any, owner: Any, owners: int) -> Balls:
        """Leaves, sorted by owner; neighbours in the order should be near each other."""
        nodes, root = np.arange(len(radius)), np.full(owners, -1)
        nothing = np.zeros(len(radius), np.int64)
        levels = [(centre, radius, nothing, nothing)]
        made, begin, end = len(radius), nodes, nodes + 1
        while len(nodes):
            is_single = np.bincount(owner, minlength=owners)[owner] == 1
            root[owner[is_single]] = nodes[is_single]
            nodes, owner, begin, end = (of[~is_single] for of in (nodes, owner, begin, end))
            starts = np.flatnonzero((np.arange(len(nodes)) - np.searchsorted(owner, owner)) % _FAN == 0)
            sizes = np.diff(np.append(starts, len(nodes)))
            first, owner, begin, end = nodes[starts], owner[starts], begin[starts], end[starts + sizes - 1]
            levels.append((*_around(centre, radius, begin, end), first, sizes))
            nodes = made + np.arange(len(starts))
            made += len(starts)
        middles, radii, first_child, children = (
            np.concatenate(column) for column in zip(*levels, strict=True)
        )
        return cls(middles, radii, first_child, children, root)

    def split(self, nodes: Any) -> tuple[Any, Any]:
        """Which of the given nodes, and a child of it; children in their order."""
        counts = self.children[nodes]
        which = np.repeat(np.arange(len(nodes)), counts)
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        return which, self.first_child[nodes][which] + np.arange(len(which)) - begins


def _around(centre: Any, radius: Any, begin: Any, end: Any) -> tuple[Any, Any]:
    """Balls round the leaves from begin to end."""
    middle = centre[(begin + end) // 2]
    sizes = end - begin
    leaf = np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    far = np.linalg.norm(np.repeat(middle, sizes, axis=0) - centre[leaf], axis=1) + radius[leaf]
    starts = np.cumsum(sizes) - sizes
    return middle, np.maximum.reduceat(far, starts) if len(starts) else far


@dataclass(frozen=True)
class Outlines:
    """Edges of shapes, by shape; node n of the trees is edge n. An edge runs from its western end, so that shapes which share
    one measure the same; `is_turned` says where that is against the shape's own direction."""

    shapes: Any
    edges: Pieces
    is_turned: Any
    # Of each shape.
    first_edge: Any
    balls: Balls

    @classmethod
    def of(cls, shapes: Any) -> Outlines:
        """Shapes that are missing, empty or not in degrees have no edge."""
        shapes = np.asarray(shapes, dtype=object)
        start, end, owner = _edges(shapes)
        is_turned = (start[:, 0] > end[:, 0]) | ((start[:, 0] == end[:, 0]) & (start[:, 1] > end[:, 1]))
        first, last = (
            np.where(is_turned[:, None], end, start),
            np.where(is_turned[:, None], start, end),
        )
        edges = Pieces(first[:, 0], first[:, 1], last[:, 0], last[:, 1])
        first_edge = np.searchsorted(owner, np.arange(len(shapes)))
        return cls(shapes, edges, is_turned, first_edge, Balls.of(*edges.spheres(), owner, len(shapes)))

    @property
    def known(self) -> Any:
        """Numbers of the shapes that have a place."""
        return np.flatnonzero(self.balls.root >= 0)

    @property
    def are_points(self) -> bool:
        return bool((shapely.get_type_id(self.shapes[self.known]) == shapely.GeometryType.POINT).all())

    def places(self, numbers: Any) -> tuple[Any, Any]:
        """Longitudes and latitudes of shapes that are points."""
        edge = self.balls.root[numbers]
        return self.edges.lon0[edge], self.edges.lat0[edge]

    def around(self, numbers: Any) -> tuple[Any, Any]:
        """Balls that hold whole shapes, with their insides."""
        root = self.balls.root[numbers]
        bounds = shapely.bounds(self.shapes[numbers])
        is_wide = (bounds[:, 2:] - bounds[:, :2] > _WIDE_DEGREES).any(axis=1)
        return self.balls.centre[root], np.where(is_wide, 2 * EQUATOR_M, self.balls.radius[root])


def _edges(shapes: Any) -> tuple[Any, Any, Any]:
    """Starts and ends, and the number of the shape. A point is an edge of no length."""
    parts, owner = _simple_parts(shapes)
    kind = shapely.get_type_id(parts)
    is_point, is_polygon = kind == shapely.GeometryType.POINT, kind == shapely.GeometryType.POLYGON
    rings, of_polygon = shapely.get_rings(parts[is_polygon], return_index=True)
    is_line = ~is_point & ~is_polygon
    lines = np.concatenate([parts[is_line], rings])
    line_owner = np.concatenate([owner[is_line], owner[is_polygon][of_polygon]])
    xy, line = shapely.get_coordinates(lines, return_index=True)
    same = np.flatnonzero(line[1:] == line[:-1])
    points = shapely.get_coordinates(parts[is_point])
    owner = np.concatenate([line_owner[line[same]], owner[is_point]])
    start, end = np.concatenate([xy[same], points]), np.concatenate([xy[same + 1], points])
    order = np.argsort(owner, kind="stable")
    start, end, owner = start[order], end[order], owner[order]
    is_good = (np.isfinite(start) & np.isfinite(end)).all(axis=1)
    is_good &= (np.abs(start[:, 1]) <= 90) & (np.abs(end[:, 1]) <= 90)
    is_kept = np.ones(len(shapes), dtype=bool)
    is_kept[owner[~is_good]] = False
    return start[is_kept[owner]], end[is_kept[owner]], owner[is_kept[owner]]


def _simple_parts(shapes: Any) -> tuple[Any, Any]:
    """Points, lines and polygons, of collections within collections too."""
    owner = np.flatnonzero(~shapely.is_missing(shapes) & ~shapely.is_empty(shapes))
    parts = shapes[owner]
    while np.isin(shapely.get_type_id(parts), _MULTIPLE).any():
        parts, whole = shapely.get_parts(parts, return_index=True)
        owner = owner[whole]
    filled = ~shapely.is_empty(parts)
    return parts[filled], owner[filled]
