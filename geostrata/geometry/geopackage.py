"""GeoPackage's binary: a header with an optional envelope, then WKB."""

from __future__ import annotations

import shapely

from geostrata.geometry import wkb
from geostrata.geometry.parsing import Parsed

MAGIC = b"GP"
_HEADER = 8
# By the indicator in the flags: no envelope, xy, xyz, xym, xyzm.
_ENVELOPES = (0, 32, 48, 48, 64)
_EMPTY, _EXTENDED = 0x10, 0x20


def read(values: list[bytes]) -> Parsed:
    """Its srs_id is a key of a table in the same file, which doesn't travel with the value: left aside."""
    bodies, refused = [], {}
    for at, value in enumerate(values):
        body = _body(value)
        if isinstance(body, str):
            refused[at] = body
        bodies.append(body if isinstance(body, bytes) else b"")
    parsed = wkb.read(bodies)
    parsed.problems.update(refused)
    for at, value in enumerate(values):
        if len(value) > 3 and value[3] & _EMPTY and parsed.geometries[at] is not None:
            parsed.geometries[at] = shapely.from_wkt(f"{parsed.geometries[at].geom_type.upper()} EMPTY")
    return parsed


def _body(value: bytes) -> bytes | str:
    """The WKB inside, or why there is none."""
    if len(value) < _HEADER:
        return f"GeoPackage header ends after {len(value)} bytes"
    flags = value[3]
    envelope = flags >> 1 & 0b111
    if flags & _EXTENDED:
        return "GeoPackage extension types are not supported"
    if envelope >= len(_ENVELOPES):
        return f"GeoPackage header has an unknown envelope type {envelope}"
    return value[_HEADER + _ENVELOPES[envelope] :]
