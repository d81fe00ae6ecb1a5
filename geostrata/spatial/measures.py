"""Of single shapes: what is wrong with one, and how thin it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from geostrata.spatial.areas import area_m2, length_m, polygons_of

UNREADABLE = "not readable as WKB"


def shapes(values: Any) -> Any:
    """Shapes of WKB; none where there is no value or it can't be read."""
    return np.asarray(shapely.from_wkb(np.asarray(values, dtype=object), on_invalid="ignore"), dtype=object)


def invalid_reasons(values: Any) -> Any:
    """By GEOS, with the place; none for what is valid or missing."""
    found = shapes(values)
    reasons = np.full(len(found), None)
    wrong = ~shapely.is_valid(found) & ~shapely.is_missing(found)
    reasons[wrong] = shapely.is_valid_reason(found[wrong])
    reasons[shapely.is_missing(found) & np.array([value is not None for value in values], bool)] = UNREADABLE
    return reasons


def thinnest_parts(shapes: Any) -> dict[str, Any]:
    """Of the polygon with the least mean width in each shape: that width, its compactness and its area.

    The mean width is twice the area by the perimeter (of a long strip: its width), the compactness 4 pi times the area by the
    square of the perimeter (1 for a circle).
    """
    polygons, owner = polygons_of(shapes)
    areas, around = area_m2(polygons), length_m(polygons)
    width, compactness = 2 * areas / around, 4 * np.pi * areas / around**2
    found = {name: np.full(len(shapes), np.nan) for name in ("width_m", "compactness", "area_m2")}
    # The thinnest is written last, and stays.
    order = np.argsort(-width, kind="stable")
    for name, values in zip(found, (width, compactness, areas), strict=True):
        found[name][owner[order]] = values[order]
    return found
