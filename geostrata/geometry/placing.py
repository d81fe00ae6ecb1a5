"""Coordinates of a batch in EPSG:4326, a call to PROJ for each CRS of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from geostrata.geometry.arrays import Flags, Floats, Ints
from geostrata.geometry.declaring import Declared

AxisOrder = Literal["xy", "authority"]


@dataclass
class Placed:
    """Longitude and latitude of each coordinate. By row: whether all are within its CRS, whether any was
    changed; the problems of those that are not within."""

    lon_lat: Floats
    is_within: Flags
    is_moved: Flags
    problems: dict[int, str]


def check_axis_order(axis_order: str) -> None:
    allowed = get_args(AxisOrder)
    if axis_order not in allowed:
        raise ValueError(f"axis_order must be one of {', '.join(allowed)}, got {axis_order!r}")


def place(xy: Floats, rows: Ints, declared: Declared, axis_order: str) -> Placed:
    """`rows` has the row of each coordinate."""
    count = len(declared.codes)
    placed = Placed(xy, np.zeros(count, dtype=bool), np.zeros(count, dtype=bool), {})
    has_coordinates = np.zeros(count, dtype=bool)
    has_coordinates[rows] = True
    used = np.unique(declared.codes[has_coordinates])
    for code in used:
        system = declared.systems[code]
        if not system.is_known:
            continue
        is_swapped = axis_order == "authority" and system.is_north_first
        of_system = has_coordinates & (declared.codes == code)
        members = slice(None) if len(used) == 1 else np.flatnonzero(of_system[rows])
        x, y = xy[members].T[:: -1 if is_swapped else 1]
        lon, lat, is_within = system.to_lon_lat(x, y)
        placed.is_within |= of_system
        if system.transformer is not None or is_swapped:
            if placed.lon_lat is xy:
                placed.lon_lat = xy.copy()
            placed.is_moved |= of_system
            placed.lon_lat[members, 0] = lon
            placed.lon_lat[members, 1] = lat
        if not is_within.all():
            outside = np.flatnonzero(~is_within)
            bad_rows, first = np.unique(rows[members][outside], return_index=True)
            placed.is_within[bad_rows] = False
            for row, at in zip(bad_rows.tolist(), outside[first], strict=True):
                placed.problems[row] = system.why_outside(float(x[at]), float(y[at]))
    return placed
