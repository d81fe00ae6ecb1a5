"""Shapes that have broken indexes before, and points in their most awkward places."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from shapely import LinearRing, LineString, MultiPoint, MultiPolygon, Point, Polygon, box


def awkward_shapes() -> list[Any]:
    ring = np.column_stack([np.cos(np.linspace(0, 7, 400)), np.sin(np.linspace(0, 7, 400))])
    spiral = LineString(ring * np.linspace(0.1, 2, 400)[:, None]).buffer(0.01)
    return [
        box(0, 0, 1, 1),
        # Shares a border with the first, and a corner with the one after.
        box(1, 0, 2, 1),
        box(2, 1, 3, 2),
        Polygon([(0, 0), (3, 0), (3, 3), (0, 3)], [[(1, 1), (2, 1), (2, 2), (1, 2)]]),
        # An island in that hole, touching it in a corner.
        Polygon([(1, 1), (1.5, 1.1), (1.4, 1.6)]),
        MultiPolygon([box(-3, -3, -2, -2), box(-1.5, -3, -1, -2), box(4, 4, 4.5, 4.5)]),
        # Slivers, one of them thinner than any cell.
        Polygon([(-3, 0), (3, 1e-7), (3, 2e-7)]),
        Polygon([(0.5, -3), (0.5 + 1e-12, 3), (0.5, 3)]),
        spiral,
        # On both sides of the antimeridian, and round a pole.
        MultiPolygon([box(179.5, -1, 180, 1), box(-180, -1, -179.5, 1)]),
        box(-180, 85, 180, 90),
        # The world but a town.
        Polygon([(-180, -90), (180, -90), (180, 90), (-180, 90)], [[(0, 0), (0, 0.1), (0.1, 0.1), (0.1, 0)]]),
        Point(1, 1),
        LineString([(0, 0), (1, 1), (2, 1)]),
        LinearRing([(0, 0), (1, 0), (1, 1)]),
        MultiPoint([(0.5, 0.5), (1, 1)]),
        Polygon(),
        Point(),
        None,
    ]


def awkward_points(shapes: Any, chance: np.random.Generator, count: int) -> Any:
    """Anywhere, on corners, on edges, and as near to an edge as numbers allow."""
    xy = shapely.get_coordinates(shapes)
    corners = xy[chance.integers(0, len(xy), count)]
    starts = chance.integers(0, len(xy) - 1, count)
    along = xy[starts] + (xy[starts + 1] - xy[starts]) * chance.choice([0.25, 0.5, 1 / 3], count)[:, None]
    nearly = np.nextafter(along, chance.uniform(-200, 200, (count, 2)))
    around = corners + chance.normal(0, 0.3, (count, 2))
    anywhere = chance.uniform((-180, -90), (180, 90), (count, 2))
    near_home = chance.uniform(-4, 5, (count, 2))
    whole = chance.integers(-4, 5, (count, 2)) / 2
    return np.concatenate([corners, along, nearly, around, anywhere, near_home, whole])


def random_shapes(chance: np.random.Generator, count: int) -> Any:
    """Valid polygons of many sizes, some with holes, in one region so that they overlap."""
    made = []
    for _ in range(count):
        middle = chance.uniform(-3, 3, 2)
        corners = int(chance.integers(3, 40))
        turn = np.sort(chance.uniform(0, 2 * np.pi, corners))
        reach = chance.uniform(0.001, 1.5) * chance.uniform(0.4, 1, corners)
        ring = middle + reach[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
        shape = shapely.make_valid(Polygon(ring))
        if chance.random() < 0.3:
            shape = shape.difference(shape.centroid.buffer(chance.uniform(0.01, 0.3)))
        made.append(shape)
    return np.array(made, dtype=object)
