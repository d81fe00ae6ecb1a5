"""Points put onto their nearest line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from geostrata.spatial.geodesic import closest
from geostrata.spatial.nearest import NearestIndex
from geostrata.spatial.outlines import Outlines
from geostrata.spatial.spheroid import GEOD

LINES = (
    shapely.GeometryType.LINESTRING,
    shapely.GeometryType.LINEARRING,
    shapely.GeometryType.MULTILINESTRING,
)


@dataclass(frozen=True)
class Snapped:
    """By point: its number and the line's, metres between them, the place on the line, and metres from the line's start to it."""

    left: Any
    right: Any
    distance_m: Any
    places: Any
    position_m: Any


class LineIndex:
    """Lines with the metres along them: geodesics from corner to corner. The parts of a line follow each other, gaps count nothing."""

    def __init__(self, lines: Any, ids: Any) -> None:
        self._nearest, self._outlines = NearestIndex.of(lines, ids), Outlines.of(lines)
        edges = self._outlines.edges
        self._lengths = GEOD.inv(edges.lon0, edges.lat0, edges.lon1, edges.lat1)[2]
        self._before = np.append(0, np.cumsum(self._lengths))

    def snap(self, points: Any, max_distance_m: float | None = None) -> Snapped:
        """Points that have a line within reach, in their order."""
        found = self._nearest.find(points, 1, max_distance_m)
        on = closest(Outlines.of(points), found.left, self._outlines, found.right, lambda best: best)
        edge = self._outlines.edges[on.edge]
        lon, lat = edge.at(on.fraction)
        along = GEOD.inv(edge.lon0, edge.lat0, lon, lat)[2]
        is_turned = self._outlines.is_turned[on.edge]
        along[is_turned] = GEOD.inv(edge.lon1, edge.lat1, lon, lat)[2][is_turned]
        start = self._before[self._outlines.first_edge[found.right]]
        position = self._before[on.edge] - start + along
        return Snapped(found.left, found.right, found.distance_m, shapely.points(lon, lat), position)
