"""Boxes around shapes, as rows of west, south, east, north, and what lies within some metres of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

# The earth is round: what is near may lie on the other side of the antimeridian.
TURNS = (0.0, -360.0, 360.0)
# Of a degree of latitude, at the least: meridians are curved most at the equator.
_METRES_A_DEGREE = 110_500.0
# Of places and distances, at the most.
_ROUNDING_M = 1e-3
_WORLD = shapely.box(-180, -90, 180, 90)


def grown(boxes: Any, metres: float | None) -> Any:
    """Boxes that hold whatever lies within so many metres, on a map that goes on beyond the antimeridian. Within no metres lies what is
    written otherwise, 180 for -180 or any longitude at a pole; with none asked for, boxes stay as they are."""
    if metres is None:
        return boxes
    up = (metres + _ROUNDING_M) / _METRES_A_DEGREE
    furthest = np.minimum(np.maximum(np.abs(boxes[:, 1]), np.abs(boxes[:, 3])) + up, 90.0)
    # Half round the earth is everywhere: so it is at a pole.
    aside = np.minimum(up / np.maximum(np.cos(np.radians(furthest)), 1e-12), 180.0)
    return boxes + np.column_stack([-aside, np.full(len(boxes), -up), aside, np.full(len(boxes), up)])


def turned(boxes: Any, metres: float | None) -> Any:
    """The boxes and, where distances are asked for, the same boxes a turn to the west and one to the east: three for each, by turn."""
    return [np.add(boxes, (turn, 0, turn, 0)) for turn in (TURNS[:1] if metres is None else TURNS)]


def surroundings(shapes: Any, metres: float | None) -> Any:
    """Shapes that hold whatever lies within so many metres of each shape; the shapes themselves for none."""
    if metres is None:
        return shapes
    boxes = grown(shapely.bounds(shapes), metres)
    inside = np.column_stack(
        [shapely.intersection(shapely.box(*those.T), _WORLD) for those in turned(boxes, metres)]
    )
    return np.where(np.isnan(boxes[:, 0]), None, shapely.union_all(inside, axis=1))
