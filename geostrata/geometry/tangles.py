"""How often do the lines of an invalid geometry cross? GEOS makes parts of every crossing: of 2,000 random vertices half a
million, in 14 seconds and more than a gigabyte."""

from __future__ import annotations

import numpy as np
import shapely

from geostrata.geometry.arrays import Flags, Objects

# Repaired in about a second and 80 MB. Invalid shapes of maps have a handful, and hundreds at the most.
CROSSINGS = 50_000
# A shape of fewer lines can't have more.
_FEWEST_LINES = int((2 * CROSSINGS) ** 0.5)
# Pairs of lines that are looked at in one call.
_PAIRS = 5_000_000


def is_tangled(geometries: Objects) -> Flags:
    """Whether the lines of each meet more than CROSSINGS times, without those that follow one another."""
    found = np.zeros(len(geometries), dtype=bool)
    for at in np.flatnonzero(shapely.get_num_coordinates(geometries) > _FEWEST_LINES):
        found[at] = _crossings(geometries[at]) > CROSSINGS
    return found


def _crossings(geometry: shapely.Geometry) -> int:
    """Exact up to CROSSINGS; the rest is not counted."""
    xy, part = shapely.get_coordinates(_lines(geometry), return_index=True)
    is_line = part[1:] == part[:-1]
    lines = shapely.linestrings(np.stack([xy[:-1], xy[1:]], axis=1)[is_line])
    shapely.prepare(lines)
    tree = shapely.STRtree(lines)
    step = max(1, _PAIRS // max(1, len(lines)))
    count = 0
    for first in range(0, len(lines), step):
        one, other = tree.query(lines[first : first + step], predicate="intersects")
        # Each pair is found from both sides, the next line is no crossing, and neither is the line itself.
        count += int((other > one + first + 1).sum())
        if count > CROSSINGS:
            break
    return count


def _lines(geometry: shapely.Geometry) -> Objects:
    """Its rings and lines."""
    parts = shapely.get_parts(geometry)
    while (shapely.get_type_id(parts) > 3).any():
        parts = shapely.get_parts(parts)
    is_polygon = shapely.get_type_id(parts) == 3
    found: Objects = np.concatenate([shapely.get_rings(parts[is_polygon]), parts[~is_polygon]])
    return found
