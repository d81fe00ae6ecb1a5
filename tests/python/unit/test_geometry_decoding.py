"""Every encoding that lands, sound and broken: the same geometry, or the reason why there is none."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
import shapely

from geostrata.geometry import examine
from geostrata.geometry.parsing import MAX_DEPTH

# A warning would end up in the log of every worker.
pytestmark = pytest.mark.filterwarnings("error")

NAN, INF = float("nan"), float("inf")
SHAPE = shapely.from_wkt("POLYGON Z ((16 48 1, 17 48 2, 17 49 3, 16 48 1))")
FLAT = shapely.to_wkb(shapely.force_2d(SHAPE), byte_order=1)
JSON = shapely.to_geojson(SHAPE).encode()


def one(value: Any, crs: str | None = "EPSG:4326", **options: Any) -> dict[str, Any]:
    frame = examine([value], [crs], **options)
    assert len(frame) == 1
    return {name: column.astype(object).where(column.notna(), None)[0] for name, column in frame.items()}


def with_m(dimensions: str) -> Any:
    return shapely.from_wkt(
        f"POLYGON {dimensions} ((16 48 1 {'2' * ('Z' in dimensions)}, 17 48 1 {'2' * ('Z' in dimensions)}, "
        f"17 49 1 {'2' * ('Z' in dimensions)}, 16 48 1 {'2' * ('Z' in dimensions)}))"
    )


def geopackage(body: bytes, flags: int = 0b1, envelope: int = 0, srs: int = 4326) -> bytes:
    return b"GP" + struct.pack("<BBi", 0, flags, srs) + b"\0" * envelope + body


def wkb(code: int, *rest: bytes) -> bytes:
    return struct.pack("<BI", 1, code) + b"".join(rest)


def points(*xy: tuple[float, float]) -> bytes:
    return struct.pack("<I", len(xy)) + b"".join(struct.pack("<2d", *pair) for pair in xy)


SOUND: dict[str, Any] = {
    "wkb little": shapely.to_wkb(SHAPE, byte_order=1, output_dimension=2),
    "wkb big": shapely.to_wkb(SHAPE, byte_order=0, output_dimension=2),
    "iso z": shapely.to_wkb(SHAPE, flavor="iso"),
    "iso z big": shapely.to_wkb(SHAPE, flavor="iso", byte_order=0),
    "iso m": shapely.to_wkb(with_m("M"), flavor="iso"),
    "iso zm": shapely.to_wkb(with_m("ZM"), flavor="iso"),
    "ewkb z": shapely.to_wkb(SHAPE, flavor="extended"),
    "ewkb m": shapely.to_wkb(with_m("M"), flavor="extended"),
    "ewkb zm": shapely.to_wkb(with_m("ZM"), flavor="extended", byte_order=0),
    "ewkb srid": shapely.to_wkb(shapely.set_srid(SHAPE, 3857), include_srid=True),
    "wkb with a tail": FLAT + b"\x00garbage",
    "hex": FLAT.hex().encode(),
    "hex upper": b"\n " + FLAT.hex().upper().encode() + b" \r\n",
    "hex ewkb": shapely.to_wkb(shapely.set_srid(SHAPE, 3857), include_srid=True, hex=True).encode(),
    "geopackage": geopackage(FLAT),
    "geopackage big": b"GP" + struct.pack(">BBi", 0, 0, 4326) + shapely.to_wkb(SHAPE, byte_order=0),
    "geopackage xy": geopackage(FLAT, flags=0b0011, envelope=32),
    "geopackage xyz": geopackage(FLAT, flags=0b0101, envelope=48),
    "geopackage xym": geopackage(FLAT, flags=0b0111, envelope=48),
    "geopackage xyzm": geopackage(FLAT, flags=0b1001, envelope=64),
    "geojson": JSON,
    "geojson blanks": b"\xef\xbb\xbf \r\n\t" + JSON + b"\n",
    "geojson feature": b'{"properties": {"a": "}{{"}, "geometry": ' + JSON + b', "type": "Feature"}',
    "wkt": b"POLYGON((16 48,17 48,17 49,16 48))",
    "wkt lower": b"\n polygon ((16 48, 17 48, 17 49, 16 48))\n",
    "wkt z": b"POLYGON Z((16 48 1,17 48 1,17 49 1,16 48 1))",
    "wkt z joined": b"POLYGONZ((16 48 1,17 48 1,17 49 1,16 48 1))",
    "wkt z unnamed": b"POLYGON((16 48 1,17 48 1,17 49 1,16 48 1))",
    "wkt m": b"POLYGON M((16 48 1,17 48 1,17 49 1,16 48 1))",
    "wkt zm": b"POLYGON ZM((16 48 1 2,17 48 1 2,17 49 1 2,16 48 1 2))",
    "wkt mark": b"\xef\xbb\xbfPOLYGON((16 48,17 48,17 49,16 48))",
    "ewkt": b"SRID=3857;POLYGON((16 48,17 48,17 49,16 48))",
    "ewkt blanks": b" srid = 3857 ; POLYGON((16 48,17 48,17 49,16 48))",
    "z that is not a number": shapely.to_wkb(
        shapely.from_wkt("POLYGON Z((16 48 NaN,17 48 NaN,17 49 NaN,16 48 NaN))")
    ),
    "text": "POLYGON((16 48,17 48,17 49,16 48))",
    "bytearray": bytearray(FLAT),
    "memoryview": memoryview(FLAT),
}


@pytest.mark.parametrize("name", SOUND)
def test_every_encoding_gives_the_same_plain_wkb(name: str) -> None:
    found = one(SOUND[name])
    assert found["geometry"] == FLAT
    assert (found["is_readable"], found["geometry_type"], found["problem"]) == (True, "Polygon", None)


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "no byte": (b"", "empty value of 0 bytes"),
    "blanks": (b" \r\n\t", "blank text"),
    "only a mark": (b"\xef\xbb\xbf", "blank text"),
    "no byte order": (
        b"*\xde\xad\xbe\xef",
        "neither WKB, GeoPackage, GeoJSON nor WKT: the first byte is 0x2A",
    ),
    "byte order 2": (b"\x02" + FLAT[1:], "neither WKB, GeoPackage, GeoJSON nor WKT: the first byte is 0x02"),
    "blank, then wkb": (b" " + FLAT, "neither WKB, GeoPackage, GeoJSON nor WKT: the first byte is 0x20"),
    "cut wkb": (FLAT[:42], "WKB ends after 42 bytes"),
    "cut in the header": (FLAT[:3], "WKB ends after 3 bytes"),
    "too many rings": (wkb(3, struct.pack("<I", 0xFFFFFFFF)), "WKB ends after 9 bytes"),
    "unknown type": (wkb(99, FLAT[5:]), "Unknown WKB type 99"),
    "open ring in wkb": (
        wkb(3, struct.pack("<I", 1), points((0, 0), (1, 0), (1, 1), (0, 1))),
        "Points of LinearRing do not form a closed linestring",
    ),
    "line of one point": (wkb(2, points((1, 2))), "point array must contain 0 or >1 elements"),
    "not a number": (wkb(2, points((1, 2), (3, NAN))), "coordinate y is nan, which is no place"),
    "infinite": (wkb(2, points((1, 2), (-INF, 4))), "coordinate x is -inf, which is no place"),
    "half a point": (wkb(1, struct.pack("<2d", 1, NAN)), "coordinate y is nan, which is no place"),
    "circular string": (
        wkb(8, points((0, 0), (1, 1), (2, 0))),
        "CircularString geometries are not supported",
    ),
    "curve polygon z": (wkb(1010, struct.pack("<I", 0)), "CurvePolygon geometries are not supported"),
    "tin": (wkb(16, struct.pack("<I", 0)), "TIN geometries are not supported"),
    "triangle": (wkb(17, struct.pack("<I", 0)), "Triangle geometries are not supported"),
    "surface": (wkb(15, struct.pack("<I", 0)), "PolyhedralSurface geometries are not supported"),
    "curve in a collection": (
        wkb(7, struct.pack("<I", 1), wkb(8, points((0, 0), (1, 1), (2, 0)))),
        "curved geometries inside a collection are not supported",
    ),
    "curve deeper": (
        b"GEOMETRYCOLLECTION(POINT(1 1), GEOMETRYCOLLECTION(CIRCULARSTRING EMPTY))",
        "curved geometries inside a collection are not supported",
    ),
    "hex, not wkb": (b"2a2a", "hex digits that hold no WKB: the first byte is neither 00 nor 01"),
    "hex, odd": (FLAT.hex().encode()[:-1], "text that begins with a digit, but is not all hex digits"),
    "hex, cut": (FLAT.hex().encode()[:84], "WKB ends after 42 bytes"),
    "a time": (b"12:30", "text that begins with a digit, but is not all hex digits"),
    "geopackage header": (b"GP\0\1", "GeoPackage header ends after 4 bytes"),
    "geopackage envelope": (
        geopackage(FLAT, flags=0b1011),
        "GeoPackage header has an unknown envelope type 5",
    ),
    "geopackage extension": (
        geopackage(FLAT, flags=0b100001),
        "GeoPackage extension types are not supported",
    ),
    "geopackage cut": (geopackage(FLAT[:42], flags=0b11, envelope=32), "WKB ends after 42 bytes"),
    "geopackage without a body": (geopackage(b"", flags=0b11), "WKB ends after 0 bytes"),
    "not json": (b'{"type": "Point"', "GeoJSON: parse error at line 1, column 17"),
    "no object": (b"{}", "GeoJSON: key 'type' not found"),
    "no coordinates": (b'{"type": "Point"}', "GeoJSON Point: key 'coordinates' not found"),
    "text for coordinates": (
        b'{"type":"Polygon","coordinates":"oops"}',
        "GeoJSON Polygon: type must be array, but is string",
    ),
    "open ring": (
        b'{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1]]]}',
        "GeoJSON Polygon: Points of LinearRing do not form a closed linestring",
    ),
    "short ring": (
        b'{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[1,1],[2,2],[1,1]]]}',
        "GeoJSON ring of 3 positions: at least 4 are needed",
    ),
    "short line": (
        b'{"type":"LineString","coordinates":[[0,0]]}',
        "GeoJSON LineString: point array must contain 0 or >1 elements",
    ),
    "half a position": (
        b'{"type":"Point","coordinates":[1]}',
        "GeoJSON Point: Expected two or three coordinates found one",
    ),
    "wrong type": (b'{"type":"Blob","coordinates":[1,2]}', "GeoJSON type Blob is no geometry"),
    "lower case type": (b'{"type":"point","coordinates":[1,2]}', "GeoJSON type point is no geometry"),
    "feature of nothing": (b'{"type":"Feature","geometry":null}', "GeoJSON Feature without a geometry"),
    "features": (
        b'{"type":"FeatureCollection","features":[]}',
        "GeoJSON FeatureCollection: many features, not one geometry",
    ),
    "number too large": (
        b'{"type":"Point","coordinates":[1e999,2]}',
        "GeoJSON Point: number overflow parsing '1e999'",
    ),
    "geojson nan": (b'{"type":"Point","coordinates":[NaN,2]}', "GeoJSON"),
    "geojson not utf-8": (b'{"type":"Point","coordinates":[1,2],"a":"\xff"}', "GeoJSON that is not UTF-8"),
    "geojson nul": (b'{"type":"Point","coordinates":[1,2]}\0', "GeoJSON with a NUL character"),
    "wkt type": (b"BLOB(1 2)", "WKT: Unknown type: 'BLOB'"),
    "wkt comma": (b"POINT(1,2)", "WKT: Expected number but encountered ','"),
    "wkt with a tail": (b"POINT(1 2) and more", "WKT: Unexpected text after end of geometry"),
    "wkt nan": (b"POINT(nan nan)", "coordinate x is nan, which is no place"),
    "wkt too large": (b"LINESTRING(1 2,3 1e999)", "coordinate y is inf, which is no place"),
    "wkt nul": (b"POINT(1 2)\0x", "text with a NUL character"),
    "wkt not utf-8": (b"POINT(1 2)\xff", "text that is not UTF-8"),
    "wkt curve": (b"CIRCULARSTRING(0 0,1 1,2 0)", "CIRCULARSTRING geometries are not supported"),
    "wkt curve z": (b"COMPOUNDCURVEZ((0 0 1,1 1 1))", "COMPOUNDCURVEZ geometries are not supported"),
    "wkt tin": (b"TIN(((0 0,1 1,1 0,0 0)))", "TIN geometries are not supported"),
    "wkt surface": (
        b"POLYHEDRALSURFACE(((0 0,1 1,1 0,0 0)))",
        "POLYHEDRALSURFACE geometries are not supported",
    ),
    "ewkt, no number": (b"SRID=x;POINT(1 2)", "WKT: Unknown type: 'SRID=X;POINT'"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_says_why(name: str) -> None:
    value, problem = UNREADABLE[name]
    found = one(value, repair=True)
    assert found["problem"].startswith(problem)
    assert (found["has_geometry"], found["is_readable"]) == (True, False)
    for column in ("is_empty", "geometry_type", "is_valid", "is_within_crs", "geometry", "area_change"):
        assert found[column] is None, column
    assert (found["is_repaired"], found["is_crs_known"], found["crs"]) == (False, True, "EPSG:4326")
    assert found["excerpt"] is not None


@pytest.mark.parametrize("null", [None, NAN])
def test_only_null_is_no_geometry(null: Any) -> None:
    found = one(null)
    assert found["has_geometry"] is False
    for column in ("is_readable", "is_empty", "is_valid", "is_within_crs", "geometry", "problem", "excerpt"):
        assert found[column] is None, column
    assert found["is_crs_known"] is True


EMPTY: dict[str, tuple[bytes, str]] = {
    "point of nan": (wkb(1, struct.pack("<2d", NAN, NAN)), "Point"),
    "wkt": (b"MULTIPOLYGON EMPTY", "MultiPolygon"),
    "geojson": (b'{"type":"Polygon","coordinates":[]}', "Polygon"),
    "collection of empties": (b"GEOMETRYCOLLECTION(POINT EMPTY, LINESTRING EMPTY)", "GeometryCollection"),
    "geopackage flag": (geopackage(FLAT, flags=0b010001), "Polygon"),
    "geopackage point": (geopackage(wkb(1, struct.pack("<2d", NAN, NAN)), flags=0b010001), "Point"),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_is_readable_and_has_no_place(name: str) -> None:
    value, kind = EMPTY[name]
    found = one(value)
    assert (found["is_readable"], found["is_empty"], found["geometry_type"]) == (True, True, kind)
    assert (found["is_valid"], found["is_within_crs"], found["geometry"]) == (True, None, None)
    assert found["problem"] == f"{kind} is empty"


def test_an_empty_part_is_no_harm() -> None:
    value = wkb(
        4, struct.pack("<I", 2), wkb(1, struct.pack("<2d", NAN, NAN)), wkb(1, struct.pack("<2d", 1, 2))
    )
    found = one(value)
    assert (found["is_empty"], found["problem"]) == (False, None)
    assert shapely.get_coordinates(shapely.from_wkb(found["geometry"])).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("POINT(1 2)", "Point"),
        ("LINESTRING(1 2,3 4)", "LineString"),
        ("LINEARRING(0 0,1 0,1 1,0 0)", "LineString"),
        ("MULTIPOINT(1 2)", "MultiPoint"),
        ("MULTILINESTRING((1 2,3 4))", "MultiLineString"),
        ("MULTIPOLYGON(((0 0,1 0,1 1,0 0)))", "MultiPolygon"),
        ("GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(1 2,3 4))", "GeometryCollection"),
    ],
)
def test_types_have_their_geojson_names(text: str, kind: str) -> None:
    found = one(text.encode())
    assert found["geometry_type"] == kind
    assert json.loads(shapely.to_geojson(shapely.from_wkb(found["geometry"])))["type"] == kind


@pytest.mark.parametrize("name", ["ewkb srid", "hex ewkb", "ewkt"])
@pytest.mark.parametrize("declared", [None, "", "  "])
def test_an_srid_counts_where_none_is_declared(name: str, declared: str | None) -> None:
    found = one(SOUND[name], declared)
    assert (found["crs"], found["is_crs_known"], found["is_within_crs"]) == ("EPSG:3857", True, True)
    assert shapely.from_wkb(found["geometry"]).bounds[2] == pytest.approx(17 / 111_319.49, rel=1e-6)


def test_a_declared_crs_wins_even_if_it_is_not_known() -> None:
    assert one(SOUND["ewkt"], "LOCAL:1")["crs"] == "LOCAL:1"
    assert one(SOUND["ewkt"], "EPSG:4326")["geometry"] == FLAT


def test_srid_zero_and_geopackage_ids_declare_nothing() -> None:
    for value in (b"SRID=0;POINT(1 2)", geopackage(FLAT, srs=4326)):
        found = one(value, None)
        assert (found["crs"], found["is_crs_known"], found["problem"]) == (None, False, "no CRS is declared")


def test_an_srid_is_its_own_row_s_only() -> None:
    found = examine([b"SRID=3857;POINT(1 2)", b"POINT(1 2)", b"SRID=4326;POINT(1 2)"], [None] * 3)
    assert found["crs"].tolist() == ["EPSG:3857", None, "EPSG:4326"]
    assert found["is_crs_known"].tolist() == [True, False, True]


def nested(container: int, levels: int, order: str = "<", first_byte: int | None = None) -> bytes:
    byte = first_byte if first_byte is not None else int(order == "<")
    level = struct.pack(order + "BII", byte, container, 1)
    start = struct.pack(order + "BII", int(order == "<"), container, 1)
    return start + level * (levels - 1) + struct.pack(order + "BIdd", byte, 1, 1, 2)


# Each of these overflows the stack of an unguarded GEOS, and the process is gone.
DEEP = 50_000
DEEP_VALUES = {
    **{f"wkb {container}": nested(container, DEEP) for container in (4, 5, 6, 7, 9, 10, 11, 12)},
    "wkb big": nested(7, DEEP, ">"),
    "wkb iso z": nested(1007, DEEP),
    "wkb order as before": nested(7, DEEP, ">", first_byte=7),
    "wkb cut": nested(7, DEEP)[:-30],
    "wkb second child": wkb(7, struct.pack("<I", 3), FLAT, wkb(2, points((1, 2), (3, 4))), nested(7, DEEP)),
    "hex": nested(7, DEEP).hex().encode(),
    "geopackage": geopackage(nested(7, DEEP)),
    "wkt": b"GEOMETRYCOLLECTION(" * 300_000 + b"POINT(1 2)" + b")" * 300_000,
    "wkt curves": b"COMPOUNDCURVE(" * DEEP + b"POINT(1 2)" + b")" * DEEP,
    "geojson": b'{"a":"}}}}","type":"GeometryCollection","geometries":[' * 300_000
    + b'{"type":"Point","coordinates":[1,2]}'
    + b"]}" * 300_000,
}


@pytest.mark.parametrize("name", DEEP_VALUES)
def test_nesting_that_would_end_the_process(name: str) -> None:
    assert one(DEEP_VALUES[name])["problem"] == "collections are nested more than 256 levels deep"


def test_sound_nesting_is_read_up_to_the_limit() -> None:
    assert one(nested(7, MAX_DEPTH))["problem"] is None
    assert one(nested(7, MAX_DEPTH + 1))["is_readable"] is False
    wide = shapely.geometrycollections([shapely.multipoints([[x, 1], [x, 2]]) for x in range(150)] * 5)
    for value in (shapely.to_wkb(wide), shapely.to_wkt(wide).encode(), shapely.to_geojson(wide).encode()):
        assert one(value)["problem"] is None


def test_a_curve_spoils_no_other_row() -> None:
    values = (
        [FLAT] * 5 + [b"CIRCULARSTRING(0 0,1 1,2 0)", wkb(8, points((0, 0), (1, 1), (2, 0)))] + [FLAT] * 5
    )
    values += [b"POINT(1 2)"] * 3
    found = examine(values, ["EPSG:4326"] * len(values))
    assert found["is_readable"].tolist() == [True] * 5 + [False] * 2 + [True] * 8
    assert found["geometry"][9] == FLAT


@pytest.mark.parametrize(
    ("value", "excerpt"),
    [
        (b"", "0x"),
        (b"\x01\xab", "0x01AB"),
        (b"GP\0", "0x475000"),
        (FLAT, "0x" + FLAT.hex().upper()),
        (b"\x01" + b"\xff" * 200, "0x01" + "FF" * 97 + "…"),
        (b"POINT(1\t2)\n", "POINT(1\ufffd2)\ufffd"),
        (b"POINT\xff\x07", "POINT\ufffd\ufffd"),
        ("PÖINT\u202e\u200b".encode(), "PÖINT\ufffd\ufffd"),
        (b"*not binary", "*not binary"),
        (b"*\x07\x00", "0x2A0700"),
        (b"\xff\xfe", "0xFFFE"),
        (b"P" * 200, "P" * 200),
        (b"P" * 201, "P" * 199 + "…"),
        ("𝒫".encode() * 200, "𝒫" * 200),
        ("𝒫".encode() * 201, "𝒫" * 199 + "…"),
        (b'{"a": "' + "ä".encode() * 1000, '{"a": "' + "ä" * 192 + "…"),
    ],
)
def test_excerpts_are_short_and_safe(value: bytes, excerpt: str) -> None:
    found = one(value)["excerpt"]
    assert found == excerpt
    assert found.isprintable() and len(found) <= 200
