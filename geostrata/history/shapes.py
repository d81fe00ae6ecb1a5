"""How a shape differs from what it was: not at all, by noise, by its place, or in itself.

Shapes are compared by their normal form. Where a ring begins, its direction, the order of rings and parts, a point that
is repeated and a multi-geometry of one part make no difference; a point more or less on a straight edge does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import shapely

from geostrata.spatial.wkb import shapes_of_values

SAME, NUDGED, MOVED, RESHAPED = "same", "nudged", "moved", "reshaped"
_MULTI = (4, 5, 6, 7)


def shape_changes(before: Any, after: Any, tolerance: float) -> Any:
    """One of the four for each pair of WKB values.

    SAME: their normal forms are equal. NUDGED: they are, but for less than `tolerance` (degrees) at each point. MOVED: they are,
    to the tolerance, once the lower left corners of their boxes are laid upon each other. RESHAPED: all else.
    """
    before, after = np.asarray(before, dtype=object), np.asarray(after, dtype=object)
    found = np.full(len(before), SAME, dtype=object)
    is_other = np.array([_bytes(old) != _bytes(new) for old, new in zip(before, after, strict=True)], bool)
    is_missing = np.array([old is None or new is None for old, new in zip(before, after, strict=True)], bool)
    found[is_other & is_missing] = RESHAPED
    rows = np.flatnonzero(is_other & ~is_missing)
    old, new = _tidy(shapes_of_values(before[rows])), _tidy(shapes_of_values(after[rows]))
    questions: list[tuple[str, Callable[[Any, Any], Any]]] = [
        (SAME, lambda old, new: _alike(old, new, 0)),
        (NUDGED, lambda old, new: _alike(old, new, tolerance)),
        (MOVED, lambda old, new: _alike(_at_origin(old), _at_origin(new), tolerance)),
    ]
    # Each is asked only of what none before has settled: shapes may have many thousands of points.
    for kind, is_so in questions:
        settled = is_so(old, new)
        found[rows[settled]] = kind
        rows, old, new = rows[~settled], old[~settled], new[~settled]
    found[rows] = RESHAPED
    return found


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _tidy(shapes: Any) -> Any:
    shapes = shapely.remove_repeated_points(shapes, 0)
    is_one_part = np.isin(shapely.get_type_id(shapes), _MULTI) & (shapely.get_num_geometries(shapes) == 1)
    shapes[is_one_part] = shapely.get_geometry(shapes[is_one_part], 0)
    return shapes


def _alike(old: Any, new: Any, tolerance: float) -> Any:
    """Whether normal forms agree. What is missing or unreadable is like nothing."""
    alike = shapely.equals_exact(shapely.normalize(old), shapely.normalize(new), 0)
    # Noise can swap points that stand side by side, and with them the order of the normal form: it is made on a grid. Two
    # grids, since one of them may have a line between a point and its noise.
    for shift in (0.0, 0.5) if tolerance > 0 else ():
        rows = np.flatnonzero(~alike)
        grids = [_on_grid(shapes[rows], tolerance / 2, shift) for shapes in (old, new)]
        alike[rows] = shapely.equals_exact(*map(shapely.normalize, grids), 1)
    return alike


def _on_grid(shapes: Any, cell: float, shift: float) -> Any:
    """In whole numbers of cells. Two points within a cell of each other here are within two of them in truth."""
    return shapely.transform(shapes, lambda points: np.round(points / cell + shift))


def _at_origin(shapes: Any) -> Any:
    points, owners = shapely.get_coordinates(shapes, return_index=True)
    return shapely.set_coordinates(shapes.copy(), points - shapely.bounds(shapes)[owners, :2])
