"""A declared CRS, from its text to longitude and latitude."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyproj
from pyproj.network import set_network_enabled  # type: ignore[attr-defined]  # compiled, and re-exported

from geostrata.geometry import crs_registry
from geostrata.geometry.arrays import Flags, Floats
from geostrata.geometry.crs_files import opens_files
from geostrata.geometry.rendering import extent, number, printable
from geostrata.readers.crs import from_name

TARGET = "EPSG:4326"

Box = tuple[float, float, float, float]

# A file's CRS has some thousand characters; a cache of these texts must stay small.
_LONGEST = 50_000
_CODE = re.compile(r"\w+:[\w.-]+")
_COMPOUND = re.compile(r"(\w+:[\w.-]+)\+[\w:.-]+")
_GML = re.compile(r"https?://www\.opengis\.net/gml/srs/epsg\.xml#(\d+)", re.IGNORECASE)
# WKT, PROJJSON, PROJ strings, URNs and URLs of two parts: told by their look, since PROJ would search its
# database for anything else.
_DEFINITION = re.compile(
    r"[A-Z_]*CR?S\s*[\[(]|\{|\+?(?:proj|init)=|\+\w+=.*\+?(?:proj|init)="
    r"|urn:ogc:def:crs,|https?://www\.opengis\.net/def/crs-compound",
    re.IGNORECASE | re.DOTALL,
)
_GROWTH_DEGREES = 1.0
_ROUNDING_DEGREES = 1e-9
# A step for each degree of a box around the globe: around a pole the extremes lie at multiples of 90 degrees.
_STEPS = 359
_ROUND_TRIP_RELATIVE, _ROUND_TRIP_M = 1e-6, 1e-3


@dataclass(frozen=True, eq=False)
class CoordinateSystem:
    """`transformer` is None if the coordinates are lon/lat of EPSG:4326 already; `problem` says why it is not known."""

    name: str | None
    problem: str | None = None
    transformer: Any = None
    # The authority's order is north, east.
    is_north_first: bool = False
    # Where coordinates can be; None if nobody says: then they must survive the way to EPSG:4326 and back.
    box: Box | None = None
    metres: float = 1.0
    # Of longitude, in the units of a geographic CRS; None of others.
    half_turn: float | None = None

    @property
    def is_known(self) -> bool:
        return self.problem is None

    def to_lon_lat(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Flags]:
        """Longitudes, latitudes, and which of them are in the bounds of the CRS and on the globe."""
        if self.transformer is None:
            lon, lat = x, y
        else:
            lon, lat = self.transformer.transform(x, y)
            # PROJ's rounding leaves the map at 180 degrees.
            lon = np.where(np.abs(np.abs(lon) - 180) < _ROUNDING_DEGREES, np.clip(lon, -180, 180), lon)
        is_within = (np.abs(lon) <= 180) & (np.abs(lat) <= 90)
        if self.box is not None:
            west, south, east, north = self.box
            is_within &= (x >= west) & (x <= east) & (y >= south) & (y <= north)
        elif self.transformer is not None:
            is_within &= self._comes_back(x, y, lon, lat)
        return lon, lat, is_within

    def _comes_back(self, x: Floats, y: Floats, lon: Floats, lat: Floats) -> Flags:
        back = self.transformer.transform(lon, lat, direction="INVERSE")
        smallest = _ROUND_TRIP_M / self.metres
        is_same = [
            np.abs(there - here) <= np.maximum(np.abs(here) * _ROUND_TRIP_RELATIVE, smallest)
            for there, here in zip(back, (x, y), strict=True)
        ]
        found: Flags = is_same[0] & is_same[1]
        return found

    def why_outside(self, x: float, y: float) -> str:
        if self.box is not None:
            west, south, east, north = self.box
            for axis, value, low, high in (("x", x, west, east), ("y", y, south, north)):
                if not low <= value <= high:
                    return f"{axis} {number(value)} is outside {extent(low, high)} of {self._short_name}"
        return f"x {number(x)}, y {number(y)} in {self._short_name} is no place on the globe"

    @property
    def _short_name(self) -> str:
        name = self.name or "?"
        return name if len(name) <= 40 else "the declared CRS"


UNDECLARED = CoordinateSystem(None, problem="no CRS is declared")


class _UnknownError(Exception):
    """Why there is no such CRS, or no way from it to EPSG:4326."""


def coordinate_system(text: str) -> CoordinateSystem:
    """What a row declares, known or not. Never raises."""
    if len(text) > _LONGEST:
        # Not remembered: five hundred of them could be gigabytes.
        problem = f"CRS {_cut(text)} is a text of {len(text)} characters"
        return CoordinateSystem(printable(text), problem=printable(problem))
    return _remembered(text)


@lru_cache(maxsize=512)
def _remembered(text: str) -> CoordinateSystem:
    text = " ".join(text.split())
    if not text:
        return UNDECLARED
    name = _short(text)
    try:
        # PROJ's grids are those installed: a row must mean the same with and without a network.
        set_network_enabled(False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _build(name)
    except _UnknownError as error:
        return CoordinateSystem(printable(name), problem=printable(f"CRS {_cut(name)} {error}"))
    except Exception:
        return CoordinateSystem(printable(name), problem=printable(f"CRS {_cut(name)} is not known to PROJ"))


def _cut(name: str) -> str:
    return name if len(name) <= 120 else name[:119] + "…"


def _short(text: str) -> str:
    """EPSG:25833, whichever way it is written; any other text as it is."""
    if text.isascii() and text.isdigit():
        return f"EPSG:{int(text)}" if len(text) < 10 else text
    if found := _GML.fullmatch(text):
        return f"EPSG:{found[1]}"
    return from_name(text)


def _build(name: str) -> CoordinateSystem:
    crs, name = _crs(name)
    flat = crs.to_2d()
    if not (flat.is_geographic or flat.is_projected):
        raise _UnknownError(f"is no map's or globe's ({crs.type_name})")
    is_target = flat.equals(pyproj.CRS(TARGET), ignore_axis_order=True)
    try:
        transformer = None if is_target else pyproj.Transformer.from_crs(flat, TARGET, always_xy=True)
    except pyproj.exceptions.ProjError:
        raise _UnknownError(f"has no transformation to {TARGET}") from None
    metres = flat.axis_info[0].unit_conversion_factor or 1.0
    box = _angles(flat) if flat.is_geographic else _area_in(transformer, _area(flat, name))
    half_turn = (box[2] if box else 180.0) if flat.is_geographic else None
    return CoordinateSystem(printable(name), None, transformer, _is_north_first(flat), box, metres, half_turn)


def _crs(name: str) -> tuple[Any, str]:
    """PROJ's CRS, and its short name if it has one."""
    if found := _COMPOUND.fullmatch(name):
        _listed(found[1])
        return pyproj.CRS.from_user_input(name), name
    if _CODE.fullmatch(name):
        return pyproj.CRS.from_user_input(_listed(name)), _listed(name)
    if _DEFINITION.match(name):
        if opens_files(name):
            raise _UnknownError("names a file or a pipeline of its own; declare the CRS by its code")
        crs = pyproj.CRS.from_user_input(name)
        return crs, _identity(crs) or name
    if listed := crs_registry.by_name(name):
        return pyproj.CRS.from_user_input(listed), listed
    raise _UnknownError("is not known to PROJ")


def _listed(code: str) -> str:
    if listed := crs_registry.by_code(code):
        return listed
    raise _UnknownError("is not known to PROJ")


def _identity(crs: Any) -> str | None:
    """The code that a definition carries or, without any doubt, is."""
    identity = _unbound(crs).to_json_dict().get("id")
    if identity and (listed := crs_registry.by_code(f"{identity['authority']}:{identity['code']}")):
        return listed
    found = _unbound(crs).to_authority(min_confidence=100)
    return f"{found[0]}:{found[1]}" if found else None


def _unbound(crs: Any) -> Any:
    """Without the datum shift that a definition may bring along."""
    return crs.source_crs if crs.is_bound else crs


def _is_north_first(flat: Any) -> bool:
    """As PROJ decides it for always_xy. Around a pole all axes point to it or away: there the names tell."""
    first, second = flat.axis_info[:2]
    directions = (first.direction.lower(), second.direction.lower())
    if directions == ("north", "east"):
        return True
    return (
        directions in (("south", "south"), ("north", "north"))
        and first.name.lower().startswith("northing")
        and second.name.lower().startswith("easting")
    )


def _angles(flat: Any) -> Box | None:
    """Half a turn and a quarter turn in the units of the axes, which are not degrees everywhere."""
    unit = flat.axis_info[0].unit_conversion_factor
    if not unit or not math.isfinite(unit):
        return None
    half = round(math.pi / unit, 9)
    return (-half, -half / 2, half, half / 2)


def _area(flat: Any, name: str) -> Any:
    """The area of use, from the definition or from the code that it carries: WKT of old has no areas."""
    if area := _unbound(flat).area_of_use:
        return area
    listed = crs_registry.by_code(name)
    return pyproj.CRS.from_user_input(listed).area_of_use if listed else None


def _area_in(transformer: Any, area: Any) -> Box | None:
    """The box around the area, grown a little: surveys cross borders."""
    if area is None:
        return None
    grown = _grown(area.west, area.south, area.east, area.north)
    try:
        found = transformer.transform_bounds(*grown, densify_pts=_STEPS, direction="INVERSE")
    except pyproj.exceptions.ProjError:
        return None
    west, south, east, north = box = tuple(float(value) for value in found)
    x, y = _inner_points(transformer, area)
    # Seen from above one point, as some maps show the world, the area's edges are not the map's.
    holds_area = ((x >= west) & (x <= east) & (y >= south) & (y <= north)).all()
    return (west, south, east, north) if all(map(math.isfinite, box)) and holds_area else None


def _inner_points(transformer: Any, area: Any) -> tuple[Floats, Floats]:
    """Points all over the area, in the CRS; without those that have no place in it."""
    east = area.east if area.west <= area.east else area.east + 360
    lon, lat = np.meshgrid(np.linspace(area.west, east, 9), np.linspace(area.south, area.north, 9))
    lon = np.where(lon > 180, lon - 360, lon)
    x, y = transformer.transform(lon.ravel(), lat.ravel(), direction="INVERSE")
    is_finite = np.isfinite(x) & np.isfinite(y)
    return x[is_finite], y[is_finite]


def _grown(west: float, south: float, east: float, north: float) -> Box:
    south, north = max(south - _GROWTH_DEGREES, -90.0), min(north + _GROWTH_DEGREES, 90.0)
    if west <= east:
        grown = west - _GROWTH_DEGREES, east + _GROWTH_DEGREES
        if grown[1] - grown[0] >= 360 or (grown[0] < -180 and grown[1] > 180):
            return -180.0, south, 180.0, north
        # An area that ends at 180 degrees is grown like any other: beyond it.
        west, east = ((side + 180) % 360 - 180 if abs(side) > 180 else side for side in grown)
        return west, south, east, north
    # Across the antimeridian: a gap that closes leaves the whole globe.
    west, east = west - _GROWTH_DEGREES, east + _GROWTH_DEGREES
    return (west, south, east, north) if west > east else (-180.0, south, 180.0, north)
