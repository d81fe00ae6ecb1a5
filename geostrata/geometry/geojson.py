"""GeoJSON: a geometry, or a Feature around one."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import shapely

from geostrata.geometry.parsing import MAX_DEPTH, TOO_DEEP, Parsed, parse, stripped
from geostrata.geometry.rendering import printable

_POLYGON, _MULTIPOLYGON, _COLLECTION = 3, 6, 7
# The standard's number; GEOS takes three.
_SMALLEST_RING = 4
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def read(values: list[bytes]) -> Parsed:
    texts = [stripped(value) for value in values]
    refused = {at: TOO_DEEP for at, text in enumerate(texts) if is_too_deep(text)}
    # GEOS takes a NUL for the end, and would not see what follows.
    refused |= {at: "GeoJSON with a NUL character" for at, text in enumerate(texts) if b"\0" in text}
    parsed = parse(shapely.from_geojson, texts, refused, _explain)
    _refuse_collections_of_features(parsed, texts)
    _refuse_short_rings(parsed)
    return parsed


def is_too_deep(text: bytes) -> bool:
    """Arrays don't count: GEOS recurses into objects only."""
    if text.count(b"{") <= MAX_DEPTH:
        return False
    signs = np.frombuffer(_STRING.sub(b"", text), dtype=np.uint8)
    return bool(((signs == ord("{")).cumsum() - (signs == ord("}")).cumsum()).max(initial=0) > MAX_DEPTH)


def _explain(text: bytes, message: str) -> str:
    try:
        kind = json.loads(text).get("type")
    except UnicodeDecodeError:
        return "GeoJSON that is not UTF-8"
    except Exception:
        return printable(f"GeoJSON: {message}")
    if message == "Unknown geometry type":
        return printable(f"GeoJSON type {kind} is no geometry")
    if kind == "Feature" and "null" in message:
        return "GeoJSON Feature without a geometry"
    return printable(f"GeoJSON {kind}: {message}" if isinstance(kind, str) else f"GeoJSON: {message}")


def _refuse_collections_of_features(parsed: Parsed, texts: list[bytes]) -> None:
    for at in np.flatnonzero(shapely.get_type_id(parsed.geometries) == _COLLECTION):
        if b"FeatureCollection" in texts[at] and _type_of(texts[at]) == "FeatureCollection":
            parsed.geometries[at] = None
            parsed.problems[int(at)] = "GeoJSON FeatureCollection: many features, not one geometry"


def _type_of(text: bytes) -> Any:
    try:
        return json.loads(text).get("type")
    except Exception:
        return None


def _refuse_short_rings(parsed: Parsed) -> None:
    polygons = np.flatnonzero(
        np.isin(shapely.get_type_id(parsed.geometries), (_POLYGON, _MULTIPOLYGON))
        & ~shapely.is_empty(parsed.geometries)
    )
    if not polygons.size:
        return
    rings, owner = shapely.get_rings(parsed.geometries[polygons], return_index=True)
    points = shapely.get_num_points(rings)
    for at in np.flatnonzero((points > 0) & (points < _SMALLEST_RING)):
        row = int(polygons[owner[at]])
        parsed.geometries[row] = None
        parsed.problems[row] = f"GeoJSON ring of {points[at]} positions: at least {_SMALLEST_RING} are needed"
