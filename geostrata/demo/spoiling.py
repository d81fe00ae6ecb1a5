"""Turning a sound row into a faulty one, with exactly one thing wrong."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import shapely

from geostrata.demo import crs as crss
from geostrata.demo.faults import Planted

_FUTURE = int(datetime(2099, 1, 1, tzinfo=UTC).timestamp())
_NO_KEY = (None, "", "  ")
_UNKNOWN_CRS = (None, "", "EPSG:999999", "LOCAL:1")
# A step out of the CRS's bounds from anywhere in town.
_OUT_OF_RANGE = {
    crss.WGS84: ((185.0, 0.0), (0.0, 47.0)),
    crss.WEB_MERCATOR: ((25e6, 0.0), (0.0, -30e6)),
    crss.UTM_33N: ((1e6, 0.0), (0.0, 5e6)),
}
# For a drop's CRS: what the row declares, and what its coordinates are in. Each pair leaves the
# declared CRS's bounds; degrees declared as Web Mercator, for one, would not.
_WRONG_CRS = {
    crss.WGS84: ((crss.UTM_33N, crss.WGS84), (crss.WGS84, crss.UTM_33N)),
    crss.WEB_MERCATOR: ((crss.UTM_33N, crss.WEB_MERCATOR), (crss.WGS84, crss.WEB_MERCATOR)),
    crss.UTM_33N: ((crss.UTM_33N, crss.WGS84), (crss.UTM_33N, crss.WEB_MERCATOR)),
}


@dataclass(frozen=True)
class Row:
    """What faults can touch. `raw` replaces the encoded geometry when it cannot be a geometry."""

    key: str | None
    geometry: Any
    crs: str | None
    ts: int
    raw: bytes | str | None = None


def missing_key(variant: int) -> str | None:
    return _NO_KEY[variant % len(_NO_KEY)]


def future(variant: int) -> int:
    """A second of the year 2099."""
    return _FUTURE + variant * 7_919 % (360 * 86_400)


def _bow_tie(geometry: Any) -> Any:
    west, south, east, north = geometry.bounds
    return shapely.Polygon([(west, south), (east, north), (east, south), (west, north)])


def malformed_wkb(geometry: Any, variant: int) -> bytes:
    sound: bytes = shapely.to_wkb(geometry)
    match variant % 4:
        case 0:
            return sound[: len(sound) // 2]
        case 1:
            # No byte order, and no geometry type in either order.
            noise = np.random.PCG64(variant).random_raw(6).astype("<u8").tobytes()
            return b"*\xde\xad\xbe\xef" + noise
        case 2:
            return b""
        case _:
            return struct.pack("<BI", 1, 99) + sound[5:]


def malformed_geojson(geometry: Any, variant: int) -> str:
    # Always a polygon: only single polygons land as GeoJSON.
    ring = [list(point) for point in geometry.exterior.coords]
    match variant % 4:
        case 0:
            return '{"type":"Polygon","coordinates":"oops"}'
        case 1:
            return f'{{"type":"Polygon","coordinates":[{ring[:-1]}]}}'
        case 2:
            return f'{{"type":"Polygon","coordinates":[{ring[:2]}]}}'
        case _:
            return f'{{"type":"Blob","coordinates":[{ring}]}}'


def spoil(row: Row, planted: Planted, drop_crs: str) -> Row:
    """The row with the planted fault; the row's geometry is in the drop's CRS."""
    geometry, variant = row.geometry, planted.variant
    match planted.fault:
        case "missing_key":
            return replace(row, key=missing_key(variant))
        case "null_geometry":
            return replace(row, geometry=None)
        case "malformed_wkb":
            return replace(row, geometry=None, raw=malformed_wkb(geometry, variant))
        case "malformed_geojson_geometry":
            return replace(row, geometry=None, raw=malformed_geojson(geometry, variant))
        case "empty_geometry":
            return replace(row, geometry=shapely.Polygon())
        case "wrong_type":
            corner = shapely.get_coordinates(geometry)[:2]
            other = shapely.Point(corner[0]) if variant % 2 else shapely.LineString(corner)
            return replace(row, geometry=other)
        case "invalid_ring":
            return replace(row, geometry=_bow_tie(geometry))
        case "unknown_crs":
            return replace(row, crs=_UNKNOWN_CRS[variant % len(_UNKNOWN_CRS)])
        case "out_of_range_coordinates":
            step = np.array(_OUT_OF_RANGE[drop_crs][variant % 2])
            moved = shapely.transform(geometry, lambda xy: crss.rounded(xy + step, drop_crs))
            return replace(row, geometry=moved)
        case "wrong_crs":
            declared, actual = _WRONG_CRS[drop_crs][variant % 2]
            converted = crss.convert_geometry(geometry, drop_crs, actual)
            return replace(row, geometry=converted, crs=declared)
        case "swapped_coordinates":
            return replace(row, geometry=shapely.transform(geometry, lambda xy: xy[:, ::-1]))
        case "future_timestamp":
            return replace(row, ts=future(variant))
        case unknown:
            raise ValueError(f"no way to plant the fault {unknown}")
