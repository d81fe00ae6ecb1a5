"""Boxes around shapes, as rows of west, south, east, north, and what lies within some metres of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

# The earth is round: what is near may lie on the other side of the antimeridian.
TURNS = (0.0, -360.0, 360.0)
# Of a degree of latitude, at the least: meridians are curved most at the equator.
_METRES_A_DEGREE = 110_500.0
_WORLD = shapely.box(-180, -90, 180, 90)


def grown(boxes: Any, metres: float) -> Any:
    """Boxes that hold whatever lies within so many metres, on a map that goes on beyond the antimeridian."""
    if not metres:
        return boxes
    up = metres / _METRES_A_DEGREE
    furthest = np.minimum(np.maximum(np.abs(boxes[:, 1]), np.abs(boxes[:, 3])) + up, 90.0)
    # Half round the earth is everywhere: so it is at a pole.
    aside = np.minimum(up / np.maximum(np.cos(np.radians(furthest)), 1e-12), 180.0)
    return boxes + np.column_stack([-aside, np.full(len(boxes), -up), aside, np.full(len(boxes), up)])


def surroundings(shapes: Any, metres: float) -> Any:
    """Shapes that hold whatever lies within so many metres of each shape; the shapes themselves for none."""
    if not metres:
        return shapes
    boxes = grown(shapely.bounds(shapes), metres)
    turned = [shapely.box(*np.add(boxes, (turn, 0, turn, 0)).T) for turn in TURNS]
    inside = np.column_stack([shapely.intersection(those, _WORLD) for those in turned])
    return np.where(np.isnan(boxes[:, 0]), None, shapely.union_all(inside, axis=1))
