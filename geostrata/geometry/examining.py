"""From landed values to what they are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import shapely

from geostrata.geometry import antimeridian
from geostrata.geometry.arrays import Flags, Floats, Ints, Objects, objects
from geostrata.geometry.coordinate_systems import TARGET
from geostrata.geometry.declaring import Declared, declared
from geostrata.geometry.decoding import as_values, coordinates, decode
from geostrata.geometry.placing import Placed, check_axis_order, place
from geostrata.geometry.results import GEOMETRY_TYPES, Results
from geostrata.geometry.validity import Validity


def examine(values: Any, crs: Any, *, axis_order: str = "xy", repair: bool = False) -> pd.DataFrame:
    """Examines landed geometries: one row of the result an input, in their order. No value and no CRS raises.

    `values`: bytes or None; WKB (extended and ISO too), GeoPackage's binary, or the UTF-8 of GeoJSON, WKT or hex WKB.
    `crs`: what each row declares, as text or None; where it declares nothing, an SRID in the value counts.
    `axis_order`: `authority` if coordinates come in the order of the CRS's authority (EPSG:4326: latitude first).
    `repair`: whether invalid geometry is made valid.
    """
    check_axis_order(axis_order)
    landed, texts = as_values(values), objects(crs)
    if len(landed) != len(texts):
        raise ValueError(f"values and crs must be of one length, got {len(landed)} and {len(texts)}")
    # Overflows of senseless numbers are an answer here, not a warning.
    with np.errstate(all="ignore"):
        return _examined(landed, texts, axis_order, repair).frame()


def _examined(landed: Objects, crs: Objects, axis_order: str, wants_repair: bool) -> Results:
    decoded = decode(landed)
    xy, rows = coordinates(decoded)
    geometries, problems = decoded.geometries, decoded.problems
    is_readable = shapely.get_type_id(geometries) >= 0
    is_empty = shapely.is_empty(geometries)

    validity = Validity.of(len(landed), wants_repair)
    readable = np.flatnonzero(is_readable)
    geometries[readable] = validity.check(readable, geometries[readable])
    if validity.is_repaired.any():
        xy, rows = shapely.get_coordinates(geometries, return_index=True)

    of_rows = declared(crs, decoded.srids)
    placed = place(xy, rows, of_rows, axis_order)
    cuts, is_unsure = _cut(geometries, rows, placed, of_rows, axis_order, validity)
    in_target = _moved(geometries, rows, placed, validity, cuts)

    types = GEOMETRY_TYPES[shapely.get_type_id(geometries)]
    types[list(cuts)] = GEOMETRY_TYPES[shapely.get_type_id(list(cuts.values()))] if cuts else None
    for row in np.flatnonzero(is_empty):
        problems[row] = f"{types[row]} is empty"
    _note(problems, validity.problems)
    has_geometry = np.array([value is not None for value in landed], dtype=bool)
    is_unknown = has_geometry & ~of_rows.is_known()
    _note(problems, dict(zip(np.flatnonzero(is_unknown), of_rows.problems()[is_unknown], strict=True)))
    _note(problems, placed.problems)
    _note(problems, validity.problems_in_target)
    _note(problems, validity.repairs)
    return Results(
        has_geometry=has_geometry,
        is_readable=is_readable,
        is_empty=is_empty,
        geometry_type=types,
        is_valid=validity.is_valid,
        is_repaired=validity.is_repaired,
        area_change=validity.area_change,
        crs=of_rows.names(),
        is_crs_known=of_rows.is_known(),
        is_within_crs=placed.is_within,
        is_side_known=~is_unsure,
        geometry=_wkb(in_target, placed),
        problem=problems,
        excerpt=decoded.excerpts,
    )


def _cut(
    geometries: Objects, rows: Ints, placed: Placed, of_rows: Declared, axis_order: str, validity: Validity
) -> tuple[dict[int, Any], Flags]:
    """Of rows that cross the antimeridian their geometries in EPSG:4326; and which rows may cross it, or not."""
    cuts: dict[int, Any] = {}
    is_unsure = np.zeros(len(geometries), dtype=bool)
    is_open = placed.is_within & validity.is_valid & (shapely.get_dimensions(geometries) > 0)
    is_projected = np.array([system.half_turn is None for system in of_rows.systems])[of_rows.codes]
    for row in antimeridian.suspects(placed.lon_lat, rows, is_projected).tolist():
        if is_open[row]:
            system = of_rows.systems[of_rows.codes[row]]
            is_swapped = axis_order == "authority" and system.is_north_first
            found, is_sure = antimeridian.cut(geometries[row], system, is_swapped)
            is_unsure[row] = not is_sure
            if found is not None:
                cuts[row] = found
    return cuts, is_unsure


def _moved(
    geometries: Objects, rows: Ints, placed: Placed, validity: Validity, cuts: dict[int, Any]
) -> Objects:
    """The geometries in EPSG:4326, where they could be placed. What was valid must be so there too."""
    is_moved = placed.is_moved & placed.is_within
    if not is_moved.any():
        return geometries
    moved = np.flatnonzero(is_moved)
    lon_lat: Floats = placed.lon_lat if is_moved.all() else placed.lon_lat[is_moved[rows]]
    found = shapely.set_coordinates(geometries[moved], lon_lat)
    for row, shape in cuts.items():
        found[np.searchsorted(moved, row)] = shape
    was_valid = np.flatnonzero(validity.is_valid[moved])
    found[was_valid] = validity.check(moved[was_valid], found[was_valid], target=TARGET)
    in_target = geometries.copy()
    in_target[moved] = found
    return in_target


def _wkb(geometries: Objects, placed: Placed) -> Objects:
    found = np.full(len(geometries), None)
    given = np.flatnonzero(placed.is_within)
    found[given] = shapely.to_wkb(geometries[given], output_dimension=2, byte_order=1, flavor="iso")
    return found


def _note(problems: Objects, found: dict[int, str]) -> None:
    """The first problem of a row counts."""
    for row, text in found.items():
        if problems[row] is None:
            problems[row] = text
