"""Geometries that can't be read, or that GEOS calls invalid: in WKB, EWKB, hex, WKT and GeoJSON."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import shapely

Value = TypeVar("Value", str, bytes)

CRS_TEXTS = ("EPSG:4326", "epsg:4326", "urn:ogc:def:crs:OGC::CRS84", "OGC:CRS84")
UNKNOWN_CRS_TEXTS = (
    "EPSG:0",
    "EPSG:99999999999999999999",
    "nowhere",
    "urn:ogc:def:crs:",
    "+proj=",
    '{"type":',
    "4326°",
    "ù" * 300,
)
# Deeper than Python's own limit of recursion, and than what a parser with a small stack survives.
DEPTH = 1000
_DOUBLES = (float("nan"), float("inf"), -float("inf"))
_NUMBERS = (
    "NaN",
    "Infinity",
    "-inf",
    "1e999",
    "1.2.3",
    "0x10",
    "--1",
    "1e",
    "١٢",
    "1,5",
    "9" * 400,
    "",
    "null",
)
_KEYWORDS = ("POINTY", "POLYGONE", "ЛИНИЯ", "MULTI", "SRID=4326", "<Point>", "", "NULL", "nan")


def sound(rng: random.Random) -> shapely.Geometry:
    """In degrees, far from the edges of any CRS."""
    x, y = round(rng.uniform(6.5, 9.5), 6), round(rng.uniform(46.2, 47.4), 6)
    if rng.randrange(3) == 0:
        return shapely.Point(x, y)
    if rng.randrange(2) == 0:
        return shapely.LineString([(x, y), (x + 0.01, y + 0.02), (x + 0.03, y)])
    return sound_polygon(rng)


def sound_polygon(rng: random.Random) -> shapely.Geometry:
    x, y = rng.uniform(6.5, 9.5), rng.uniform(46.2, 47.4)
    return shapely.buffer(shapely.Point(x, y), 0.001, quad_segs=2)


def invalid_polygon(rng: random.Random) -> bytes:
    """WKB that every reader takes, and GEOS calls invalid or does not take at all."""
    x, y = rng.uniform(6.5, 9.5), rng.uniform(46.2, 47.4)
    rings = [
        [(x, y), (x + 1, y + 1), (x + 1, y), (x, y + 1), (x, y)],
        [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)],
        [(x, y), (x + 1, y), (x, y)],
        [(x, y), (x + 1, y), (rng.choice(_DOUBLES), y + 1), (x, y)],
    ]
    return _polygon(rings[rng.randrange(4)])


def bad_wkb(rng: random.Random) -> bytes:
    return _until_bad(rng, _WKB, _is_bad_wkb)


def bad_hex(rng: random.Random) -> str:
    return _until_bad(rng, _HEX, _is_bad_wkb)


def bad_wkt(rng: random.Random) -> str:
    return _until_bad(rng, _WKT, _is_bad_wkt)


def bad_geojson(rng: random.Random) -> str:
    return _until_bad(rng, _GEOJSON, _is_bad_geojson)


def bad_json_geometry(rng: random.Random) -> str:
    """One that is JSON at least: it spoils its geometry, not the object around it."""
    return _until_bad(rng, _GEOJSON, lambda text: _is_json(text) and _is_bad_geojson(text))


def _until_bad(
    rng: random.Random, makers: Sequence[Callable[[random.Random], Value]], is_bad: Callable[[Value], bool]
) -> Value:
    """What was spoiled by chance may still be sound."""
    while True:
        value = rng.choice(makers)(rng)
        if is_bad(value):
            return value


def _is_bad(read: Callable[[], shapely.Geometry | None]) -> bool:
    # GEOS says by a floating point flag that it met a NaN: that is what is wanted here.
    with np.errstate(all="ignore"):
        try:
            geometry = read()
        except NotImplementedError:
            # Curves.
            return True
        return geometry is None or not shapely.is_valid(geometry)


def _is_bad_wkb(value: str | bytes) -> bool:
    return _is_bad(lambda: shapely.from_wkb(value, on_invalid="ignore"))


def _is_bad_wkt(value: str) -> bool:
    return "\0" in value or _is_bad(lambda: shapely.from_wkt(value, on_invalid="ignore"))


def _is_bad_geojson(value: str) -> bool:
    return "\0" in value or _is_bad(lambda: shapely.from_geojson(value, on_invalid="ignore"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _polygon(ring: list[tuple[float, float]]) -> bytes:
    points = b"".join(struct.pack("<dd", x, y) for x, y in ring)
    return struct.pack("<BIII", 1, 3, 1, len(ring)) + points


def _sound_wkb(rng: random.Random) -> bytes:
    geometry = sound(rng)
    if rng.randrange(2):
        return bytes(shapely.to_wkb(shapely.set_srid(geometry, 4326), include_srid=True))
    return bytes(shapely.to_wkb(geometry, byte_order=rng.randrange(2)))


def _mutated_bytes(rng: random.Random) -> bytes:
    data = bytearray(_sound_wkb(rng))
    for _ in range(rng.randint(1, 6)):
        data[rng.randrange(min(len(data), 30))] = rng.randrange(256)
    return bytes(data)


def _cut_bytes(rng: random.Random) -> bytes:
    data = _sound_wkb(rng)
    return data[: rng.randrange(len(data))]


def _random_bytes(rng: random.Random) -> bytes:
    return rng.choice((b"", b"\0", b"\1", b"\1\3\0\0\0", b"GP\0\1")) + rng.randbytes(rng.randrange(120))


def _absurd_count(rng: random.Random) -> bytes:
    kind, count = rng.choice((2, 3, 4, 5, 6, 7)), rng.choice((2**31, 2**31 - 1, 2**32 - 1, 2**24))
    inner = rng.choice((b"", struct.pack("<I", 2**31), b"\1\1\0\0\0", bytes(64)))
    return struct.pack("<BII", 1, kind, count) + inner


def _not_finite(rng: random.Random) -> bytes:
    x, y = rng.choice(_DOUBLES), rng.choice((1.0, *_DOUBLES))
    if rng.randrange(2):
        return struct.pack("<BIdd", 1, 1, x, y)
    return struct.pack("<BIIdddd", 1, 2, 2, 1.0, 2.0, x, y)


def _unknown_type(rng: random.Random) -> bytes:
    return struct.pack("<BIdd", 1, rng.choice((0, 8, 99, 999, 1_000_000, 2**32 - 1)), 1.0, 2.0)


def _rarely(
    maker: Callable[[random.Random], Value], else_maker: Callable[[random.Random], Value]
) -> Callable[[random.Random], Value]:
    """Deep ones are long: a tenth of them is enough."""
    return lambda rng: (maker if rng.randrange(10) == 0 else else_maker)(rng)


def _deep_bytes(rng: random.Random) -> bytes:
    return struct.pack("<BII", 1, 7, 1) * DEPTH + rng.choice((b"", b"\1", struct.pack("<BII", 1, 2, 2**31)))


_WKB = (
    _random_bytes,
    _cut_bytes,
    _mutated_bytes,
    _absurd_count,
    _not_finite,
    _unknown_type,
    invalid_polygon,
    _rarely(_deep_bytes, _mutated_bytes),
)


def _mutated_text(rng: random.Random, text: str) -> str:
    signs = list(text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(signs))
        signs[at] = rng.choice(("", "(", ")", "{", "}", "[", "]", ",", " ", "x", "ß", "\0", "'", "-", "."))
    return "".join(signs)


def _cut_text(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text))]


def _hex(maker: Callable[[random.Random], bytes]) -> Callable[[random.Random], str]:
    return lambda rng: maker(rng).hex()


_HEX = (
    *(_hex(maker) for maker in _WKB),
    lambda rng: _cut_text(rng, _sound_wkb(rng).hex()),
    lambda rng: _mutated_text(rng, _sound_wkb(rng).hex()),
)


def _bad_ring(rng: random.Random) -> str:
    points = [f"{rng.randrange(90)} 47", "8 47", "8 48", "7 48"]
    return f"POLYGON (({', '.join(points[: rng.randint(0, 4)])}))"


def _bow_tie(rng: random.Random) -> str:
    x = rng.randrange(1000)
    return f"POLYGON (({x} 0, {x + 1} 1, {x + 1} 0, {x} 1, {x} 0))"


def _deep_wkt(rng: random.Random) -> str:
    return "GEOMETRYCOLLECTION (" * DEPTH + rng.choice(("", "POINT (1", ")" * (DEPTH - 1)))


_WKT = (
    lambda rng: _cut_text(rng, sound(rng).wkt),
    lambda rng: _mutated_text(rng, sound(rng).wkt),
    lambda rng: f"POINT ({rng.choice(_NUMBERS)} {rng.choice(_NUMBERS)})",
    lambda rng: f"{rng.choice(_KEYWORDS)} ({rng.randrange(90)} 47)",
    lambda rng: f"POINT (1 2)\0{rng.randrange(999)}",
    lambda rng: "".join(chr(rng.randrange(0x20, 0xD7FF)) for _ in range(rng.randint(1, 60))),
    _rarely(_deep_wkt, _bow_tie),
    _rarely(lambda rng: "(" * rng.randint(1, DEPTH), _bad_ring),
)


def _sound_geojson(rng: random.Random) -> str:
    return str(shapely.to_geojson(sound(rng)))


def _wrong_coordinates(rng: random.Random) -> str:
    x = rng.uniform(-180, 180)
    kind = rng.choice(
        ("Point", "LineString", "Polygon", "MultiPolygon", "GeometryCollection", "Circle", "", None, 5)
    )
    coordinates: object = rng.choice(
        (None, [], [[]], [[[]]], [x], [str(x), "47"], {"x": x}, f"{x},47", x, [x, None], [[x, 47], []], True)
    )
    member = rng.choice(("coordinates", "coordinates", "geometries", "x"))
    return json.dumps({"type": kind, member: coordinates})


def _open_ring(rng: random.Random) -> str:
    ring = [[rng.uniform(6, 9), 47], [8, 47], [8, 48], [7, 48]][: rng.randint(1, 4)]
    return json.dumps({"type": "Polygon", "coordinates": [ring]})


def _deep_geojson(rng: random.Random) -> str:
    if rng.randrange(2):
        return '{"type":"Polygon","coordinates":' + "[" * DEPTH + "]" * DEPTH + "}"
    return '{"type":"GeometryCollection","geometries":[' * DEPTH + "5" + "]}" * DEPTH


_GEOJSON = (
    lambda rng: _cut_text(rng, _sound_geojson(rng)),
    lambda rng: _mutated_text(rng, _sound_geojson(rng)),
    lambda rng: f'{{"type":"Point","coordinates":[{rng.choice(_NUMBERS)},{rng.choice(_NUMBERS)}]}}',
    lambda rng: (
        f'{{"type":"Point","type":"Polygon","coordinates":[{rng.uniform(0, 9)},47],"coordinates":[]}}'
    ),
    lambda rng: rng.choice(('"POINT (7 47)"', "{}", "[7,47]", "5", "true", '""', "[]")),
    _wrong_coordinates,
    _open_ring,
    _rarely(_deep_geojson, _wrong_coordinates),
)
