"""WKB: OGC and ISO, PostGIS's extended form with SRID, both byte orders, Z and M; as bytes or as hex digits."""

from __future__ import annotations

import binascii
import struct

import shapely

from geostrata.geometry.parsing import MAX_DEPTH, TOO_DEEP, Parsed, parse, stripped

_NAMES = {
    8: "CircularString",
    9: "CompoundCurve",
    10: "CurvePolygon",
    11: "MultiCurve",
    12: "MultiSurface",
    13: "Curve",
    14: "Surface",
    15: "PolyhedralSurface",
    16: "TIN",
    17: "Triangle",
}
_POINT, _LINE, _POLYGON, _CIRCULAR = 1, 2, 3, 8
_CONTAINERS = frozenset((4, 5, 6, 7, 9, 10, 11, 12))
# Byte order, type and count of each level.
_SMALLEST_LEVEL = 9
_ENDS_EARLY = ("Unexpected EOF", "Input buffer is smaller")


def read(values: list[bytes]) -> Parsed:
    refused = {at: TOO_DEEP for at, value in enumerate(values) if _may_be_deep(value) and is_too_deep(value)}
    return parse(shapely.from_wkb, values, refused, _explain)


def read_hex(values: list[bytes]) -> Parsed:
    """Hex digits; blanks around them are no harm."""
    decoded, refused = [], {}
    for at, value in enumerate(values):
        try:
            decoded.append(binascii.unhexlify(stripped(value)))
        except ValueError:
            decoded.append(b"")
            refused[at] = "text that begins with a digit, but is not all hex digits"
            continue
        if decoded[-1][:1] not in (b"\x00", b"\x01"):
            refused[at] = "hex digits that hold no WKB: the first byte is neither 00 nor 01"
    parsed = read(decoded)
    parsed.problems.update(refused)
    return parsed


def _explain(value: bytes, message: str) -> str:
    if name := _NAMES.get(_type_of(value)):
        return f"{name} geometries are not supported"
    if message.startswith(_ENDS_EARLY):
        return f"WKB ends after {len(value)} bytes"
    return message


def _type_of(value: bytes) -> int:
    if len(value) < 5:
        return 0
    (code,) = struct.unpack("<I" if value[0] == 1 else ">I", value[1:5])
    return int(code & 0xFFFF) % 1000


def _may_be_deep(value: bytes) -> bool:
    return len(value) > _SMALLEST_LEVEL * MAX_DEPTH and _type_of(value) in _CONTAINERS


def is_too_deep(value: bytes) -> bool:
    """Walks the parts in GEOS's order, without recursion. What is broken is left for GEOS to refuse."""
    at, order = 0, "<"
    # How many parts are still to come, level by level.
    left = [1]
    try:
        while left:
            if left[-1] == 0:
                left.pop()
                continue
            left[-1] -= 1
            # Any other byte order than 0 and 1 means "as before" to GEOS.
            order = {0: ">", 1: "<"}.get(value[at], order)
            (code,) = struct.unpack_from(order + "I", value, at + 1)
            at += 9 if code & 0x20000000 else 5
            kind, dialect = (code & 0xFFFF) % 1000, (code & 0xFFFF) // 1000
            size = 8 * (
                2
                + (bool(code & 0x80000000) or dialect in (1, 3))
                + (bool(code & 0x40000000) or dialect in (2, 3))
            )
            if kind == _POINT:
                at += size
                continue
            (count,) = struct.unpack_from(order + "I", value, at)
            at += 4
            if kind in (_LINE, _CIRCULAR):
                at += size * count
            elif kind == _POLYGON:
                for _ in range(count):
                    (points,) = struct.unpack_from(order + "I", value, at)
                    at += 4 + size * points
            elif kind in _CONTAINERS:
                left.append(count)
                if len(left) - 1 > MAX_DEPTH:
                    return True
            else:
                return False
    except (struct.error, IndexError):
        return False
    return False
