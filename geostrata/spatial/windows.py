"""A window to look at a table through, as text for SQL: its boxes, by which files are pruned, and its exact shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import shapely

from geostrata.errors import GeostrataError

# More ranges than these make a condition longer without pruning much better.
_MOST_BOXES = 8
# Beyond this a statement is a file of its own, and each row is tested against all of it.
MOST_CORNERS = 20_000


def of_bbox(bbox: Any) -> Any:
    """West, south, east, north. East of the west, or over the antimeridian."""
    is_four = isinstance(bbox, (list, tuple)) and len(bbox) == 4
    if not is_four or not all(isinstance(number, (int, float)) and math.isfinite(number) for number in bbox):
        raise GeostrataError(
            f"within_window: bbox must be four numbers [west, south, east, north], got {bbox}"
        )
    west, south, east, north = (float(number) for number in bbox)
    if not (abs(west) <= 180 and abs(east) <= 180 and abs(south) <= 90 and abs(north) <= 90):
        raise GeostrataError(
            f"within_window: bbox must lie within longitudes -180 to 180 and latitudes -90 to 90, got {bbox}"
        )
    if south >= north or west == east:
        raise GeostrataError(
            f"within_window: bbox must have its south below its north and its west apart from its east, got {bbox}"
        )
    if west < east:
        return shapely.box(west, south, east, north)
    parts = [
        shapely.box(low, south, high, north) for low, high in ((west, 180.0), (-180.0, east)) if low < high
    ]
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


def of_wkt(wkt: Any) -> Any:
    try:
        window = shapely.from_wkt(wkt)
    except (shapely.errors.GEOSException, TypeError) as error:
        raise GeostrataError(f"within_window: wkt can't be read, {_short(error)}: {_short(wkt)}") from None
    return _checked(window, "wkt", wkt)


def of_shapes(shapes: Any, name: str) -> Any:
    """Of all shapes of a relation together."""
    known = shapes[~(shapely.is_missing(shapes) | shapely.is_empty(shapes))]
    if not len(known):
        raise GeostrataError(f"within_window: ref must have a shape at least, {name} has none")
    return _checked(shapely.union_all(known), "ref", name)


def _checked(window: Any, argument: str, given: Any) -> Any:
    if window.is_empty:
        raise GeostrataError(f"within_window: {argument} is empty: {_short(given)}")
    if not shapely.is_valid(window):
        reason = shapely.is_valid_reason(window)
        raise GeostrataError(f"within_window: {argument} is no valid shape, {reason}: {_short(given)}")
    west, south, east, north = window.bounds
    if west < -180 or east > 180 or south < -90 or north > 90:
        raise GeostrataError(
            f"within_window: {argument} must lie within longitudes -180 to 180 and latitudes -90 to 90, "
            f"got {west:g} to {east:g} and {south:g} to {north:g}"
        )
    corners = shapely.get_num_coordinates(window)
    if corners > MOST_CORNERS:
        raise GeostrataError(
            f"within_window: {argument} has {corners} corners, at most {MOST_CORNERS} fit into a statement: "
            "use spatial_join with the shapes as the other side"
        )
    return window


def as_sql(window: Any) -> dict[str, Any]:
    """`boxes`: texts of west, south, east, north; `wkb`: the shape in hexadecimal."""
    boxes = shapely.bounds(shapely.get_parts(window)).reshape(-1, 4)
    if len(boxes) > _MOST_BOXES:
        is_east = boxes[:, 0] >= 0
        sides = [boxes[side] for side in (is_east, ~is_east) if side.any()]
        boxes = np.array([[*side[:, :2].min(axis=0), *side[:, 2:].max(axis=0)] for side in sides])
    return {
        "boxes": [[f"{number!r}D" for number in box] for box in boxes.tolist()],
        "wkb": shapely.to_wkb(window, hex=True, output_dimension=2),
    }


def _short(given: Any) -> str:
    text = " ".join(str(given).split())
    return text if len(text) <= 120 else text[:119] + "…"
