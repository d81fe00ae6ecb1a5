"""What a file says about its CRS, as a short name where there is one."""

from __future__ import annotations

import json
import re
from typing import Any

from geostrata.readers.json_values import Members, json_text

_URN = re.compile(r"urn:(?:ogc|x-ogc):def:crs:([A-Za-z]+):[^:]*:([A-Za-z0-9]+)", re.IGNORECASE)
_SHORT = re.compile(r"([A-Za-z]+):([A-Za-z0-9]+)")
_LINK = re.compile(r"https?://www\.opengis\.net/def/crs/([A-Za-z]+)/[^/]+/([A-Za-z0-9]+)/?", re.IGNORECASE)
# GeoPackage's words for "not known", as GDAL renders them.
_UNDEFINED = re.compile(r'\s*[A-Z_]+\["Undefined ', re.IGNORECASE)


def from_name(name: str) -> str:
    """EPSG:2056 from any of the ways to write it; other text as it is."""
    for pattern in (_URN, _LINK, _SHORT):
        if match := pattern.fullmatch(name.strip()):
            return f"{match[1].upper()}:{match[2].upper()}"
    return name


def from_projjson(crs: Any) -> str | None:
    """GeoParquet's crs: null says that it is not known."""
    if crs is None:
        return None
    if isinstance(crs, dict):
        identity = crs.get("id")
        if isinstance(identity, dict) and "authority" in identity and "code" in identity:
            return f"{identity['authority']}:{identity['code']}"
        return json.dumps(crs)
    return from_name(crs) if isinstance(crs, str) else json.dumps(crs)


def from_geojson(crs: Any) -> str | None:
    """The `crs` member of GeoJSON before 2016, still written by most tools for projected data."""
    if crs is None:
        return None
    found = _as_dict(crs)
    properties = _as_dict(found.get("properties"))
    if found.get("type") == "name" and isinstance(properties.get("name"), str):
        return from_name(str(properties["name"]))
    if found.get("type") == "EPSG" and "code" in properties:
        return f"EPSG:{properties['code']}"
    return from_name(crs) if type(crs) is str else json_text(crs)


def _as_dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Members) else {}


def from_ogr(crs: str | None) -> str | None:
    """GDAL's answer: a code, or WKT."""
    if not crs or _UNDEFINED.match(crs):
        return None
    return from_name(crs)
