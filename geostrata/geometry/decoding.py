"""Which encoding each landed value is in, and its geometry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import shapely

from geostrata.geometry import geojson, geopackage, wkb, wkt
from geostrata.geometry.arrays import Floats, Ints, Objects, objects
from geostrata.geometry.parsing import Parsed, stripped
from geostrata.geometry.rendering import binary_excerpt, excerpt_of_unknown, not_finite, text_excerpt

_NONE, _WKB, _GEOPACKAGE, _GEOJSON, _HEX, _WKT, _UNKNOWN, _LOOK_AGAIN = range(8)
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_READERS: dict[int, Callable[[list[bytes]], Parsed]] = {
    _WKB: wkb.read,
    _GEOPACKAGE: geopackage.read,
    _GEOJSON: geojson.read,
    _HEX: wkb.read_hex,
    _WKT: wkt.read,
}
_EXCERPTS: dict[int, Callable[[bytes], str]] = {
    _WKB: binary_excerpt,
    _GEOPACKAGE: binary_excerpt,
    _GEOJSON: text_excerpt,
    _HEX: text_excerpt,
    _WKT: text_excerpt,
    _UNKNOWN: excerpt_of_unknown,
}


def _kinds_by_first_byte() -> npt.NDArray[np.int8]:
    kinds = np.full(256, _UNKNOWN, dtype=np.int8)
    for signs, kind in (
        (b"\x00\x01", _WKB),
        (_LETTERS, _WKT),
        (b"0123456789", _HEX),
        (b"{", _GEOJSON),
        # Blanks, a byte order mark, or perhaps GeoPackage's "GP".
        (b" \t\r\n\v\f\xef" + geopackage.MAGIC[:1], _LOOK_AGAIN),
    ):
        kinds[list(signs)] = kind
    return kinds


_KINDS = _kinds_by_first_byte()


@dataclass
class Decoded:
    """By row: the geometry (None: no value, or unreadable), the SRID that it carries (0: none), why it can't be read."""

    geometries: Objects
    srids: Ints
    problems: Objects
    excerpts: Objects


def as_values(values: Any) -> Objects:
    """Bytes or None, whatever came: text as its UTF-8 bytes, any kind of null as None."""
    found = objects(values)
    if {type(value) for value in found} <= {bytes, type(None)}:
        return found
    return objects(_as_value(value) for value in found)


def _as_value(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return None
    return str(value).encode("utf-8", errors="replace")


def decode(values: Objects) -> Decoded:
    kinds = _kinds_of(values)
    count = len(values)
    decoded = Decoded(
        np.full(count, None), np.zeros(count, dtype=np.int64), np.full(count, None), np.full(count, None)
    )
    for kind, excerpt in _EXCERPTS.items():
        rows = np.flatnonzero(kinds == kind)
        if not rows.size:
            continue
        given = list(values[rows])
        decoded.excerpts[rows] = [excerpt(value) for value in given]
        if kind == _UNKNOWN:
            decoded.problems[rows] = [_why_unknown(value) for value in given]
            continue
        parsed = _READERS[kind](given)
        decoded.geometries[rows] = parsed.geometries
        decoded.srids[rows] = parsed.srids
        if parsed.problems:
            decoded.problems[rows[list(parsed.problems)]] = list(parsed.problems.values())
    return decoded


def _kinds_of(values: Objects) -> npt.NDArray[np.int8]:
    # -1: no value, -2: no byte.
    first = np.array([-1 if value is None else value[0] if value else -2 for value in values], dtype=np.int16)
    kinds = _KINDS[first]
    kinds[first == -1] = _NONE
    kinds[first == -2] = _UNKNOWN
    for row in np.flatnonzero(kinds == _LOOK_AGAIN):
        kinds[row] = _kind_after_blanks(values[row])
    return kinds


def _kind_after_blanks(value: bytes) -> int:
    if value.startswith(geopackage.MAGIC):
        return _GEOPACKAGE
    text = stripped(value)
    if text[:1] == geopackage.MAGIC[:1]:
        return _WKT
    kind = int(_KINDS[text[0]]) if text else _UNKNOWN
    return kind if kind in (_GEOJSON, _HEX, _WKT) else _UNKNOWN


def _why_unknown(value: bytes) -> str:
    if not stripped(value):
        return "blank text" if value else "empty value of 0 bytes"
    return f"neither WKB, GeoPackage, GeoJSON nor WKT: the first byte is 0x{value[0]:02X}"


def coordinates(decoded: Decoded) -> tuple[Floats, Ints]:
    """All coordinates with the row of each. A geometry of which one is not finite becomes unreadable."""
    xy, rows = shapely.get_coordinates(decoded.geometries, return_index=True)
    is_finite = np.isfinite(xy).all(axis=1)
    if is_finite.all():
        return xy, rows
    spoilt, first = np.unique(rows[~is_finite], return_index=True)
    for row, (x, y) in zip(spoilt, xy[~is_finite][first], strict=True):
        decoded.problems[row] = not_finite(x, y)
        decoded.geometries[row] = None
    is_kept = ~np.isin(rows, spoilt)
    return xy[is_kept], rows[is_kept]
