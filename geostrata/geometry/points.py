"""Points that land as two columns: no geometry is built on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from geostrata.geometry.arrays import Flags, Floats, Objects, objects
from geostrata.geometry.declaring import declared
from geostrata.geometry.placing import check_axis_order, place
from geostrata.geometry.rendering import not_finite
from geostrata.geometry.results import GEOMETRY_TYPES, Results

_POINT = GEOMETRY_TYPES[0]
_WKB = np.dtype([("order", "u1"), ("type", "<u4"), ("lon_lat", "<f8", 2)])


def examine_points(x: Any, y: Any, crs: Any, *, axis_order: str = "xy") -> pd.DataFrame:
    """As `examine`, for coordinates in two columns. A row without x or without y has no geometry."""
    check_axis_order(axis_order)
    xy = np.column_stack([_numbers(x), _numbers(y)])
    texts = objects(crs)
    if len(xy) != len(texts):
        raise ValueError(f"x, y and crs must be of one length, got {len(xy)} and {len(texts)}")
    with np.errstate(all="ignore"):
        return _examined(xy, texts, axis_order).frame()


def _numbers(values: Any) -> Floats:
    found = pd.to_numeric(pd.Series(values), errors="coerce")
    numbers: Floats = found.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def _examined(xy: Floats, crs: Objects, axis_order: str) -> Results:
    has_geometry: Flags = ~np.asarray(np.isnan(xy).any(axis=1))
    is_readable: Flags = np.asarray(np.isfinite(xy).all(axis=1))
    of_rows = declared(crs)
    rows = np.flatnonzero(is_readable)
    placed = place(xy[rows], rows, of_rows, axis_order)

    problems, types = np.full(len(xy), None), np.full(len(xy), None)
    types[is_readable] = _POINT
    is_unknown = has_geometry & ~of_rows.is_known()
    problems[is_unknown] = of_rows.problems()[is_unknown]
    for row in np.flatnonzero(has_geometry & ~is_readable).tolist():
        problems[row] = not_finite(*xy[row])
    for row, text in placed.problems.items():
        problems[row] = text
    return Results(
        has_geometry=has_geometry,
        is_readable=is_readable,
        is_empty=np.zeros(len(xy), dtype=bool),
        geometry_type=types,
        is_valid=is_readable,
        is_repaired=np.zeros(len(xy), dtype=bool),
        area_change=np.zeros(len(xy)),
        crs=of_rows.names(),
        is_crs_known=of_rows.is_known(),
        is_within_crs=placed.is_within,
        is_side_known=np.ones(len(xy), dtype=bool),
        geometry=_wkb(placed.lon_lat[placed.is_within[rows]], placed.is_within),
        problem=problems,
        excerpt=_excerpts(xy),
    )


def _wkb(lon_lat: Floats, is_given: Flags) -> Objects:
    records = np.empty(len(lon_lat), dtype=_WKB)
    records["order"], records["type"], records["lon_lat"] = 1, 1, lon_lat
    found = np.full(len(is_given), None)
    found[is_given] = objects(records.view(f"V{_WKB.itemsize}").tolist())
    return found


def _excerpts(xy: Floats) -> Objects:
    """Both numbers with all their digits, by Arrow: Python would take half of all the time. `null` for a missing one."""
    is_missing = np.isnan(xy)
    texts = [
        pc.cast(pa.array(column, mask=mask), pa.string())
        for column, mask in zip(xy.T, is_missing.T, strict=True)
    ]
    joined = pc.binary_join_element_wise(*texts, " ", null_handling="replace", null_replacement="null")
    found: Objects = joined.to_numpy(zero_copy_only=False)
    found[is_missing.all(axis=1)] = None
    return found
