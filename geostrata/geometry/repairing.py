"""Invalid geometry made valid, and how much of it changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from geostrata.geometry.arrays import Flags, Floats, Objects, by_halves


@dataclass
class Repaired:
    """What could be repaired (elsewhere the geometry is as it came), and by which share its area changed."""

    geometries: Objects
    is_repaired: Flags
    area_change: Floats


def repair(geometries: Objects) -> Repaired:
    """By ring structure: shells and holes keep their meaning, and what collapses to a line is dropped. A geometry of
    which nothing of its dimension would be left stays as it is."""
    made = _made_valid(geometries)
    # GEOS may leave two parts with an edge in common, which is not valid either; a second pass joins them.
    again = ~by_halves(shapely.is_valid, made, True).astype(bool)
    made[again] = _made_valid(made[again])
    # Of None the dimension is -1, that of no geometry.
    is_repaired = (shapely.get_dimensions(made) == shapely.get_dimensions(geometries)) & ~shapely.is_empty(
        made
    )
    is_repaired &= by_halves(shapely.is_valid, made, False).astype(bool)
    return Repaired(np.where(is_repaired, made, geometries), is_repaired, area_change(geometries, made))


def _made_valid(geometries: Objects) -> Objects:
    return by_halves(
        lambda part: shapely.make_valid(part, method="structure", keep_collapsed=False), geometries, None
    )


def area_change(before: Objects, after: Objects) -> Floats:
    """|after - before| / max(after, before), 0 to 1; 0 where there is no area, as with lines.

    The area before is what any reader computes who doesn't look for crossings: each ring's by the shoelace formula,
    without sign, shells less holes. Lobes that wind against each other cancel out in it: a bow-tie of lobes a > b has
    a - b before and a + b after, so its change is twice the smaller lobe's share. It is small for a spike at a
    corner, and 1 for two equal lobes: all of their area is news, and what the shape should have been is a guess.
    """
    old = np.maximum(shapely.area(before), 0.0)
    new = shapely.area(after)
    larger = np.maximum(old, new)
    change = np.where(larger > 0, np.abs(new - old) / np.where(larger > 0, larger, 1.0), 0.0)
    # Areas beyond all numbers: nothing is known of the change, so it is the largest.
    return np.where(np.isfinite(change), change, 1.0)
