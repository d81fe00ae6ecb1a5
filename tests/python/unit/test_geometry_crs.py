"""What rows declare as their CRS, the bounds of each, and coordinates as PROJ itself gives them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyproj
import pyproj.network
import pytest
import shapely

from geostrata.geometry import coordinate_systems, crs_registry, examine, examine_points
from geostrata.geometry.coordinate_systems import _remembered, coordinate_system

pytestmark = pytest.mark.filterwarnings("error")

UTM = pyproj.CRS("EPSG:32633")
# Of nobody's codes, on a globe that has one: that globe's is not its name.
OWN = pyproj.CRS("+proj=tmerc +lon_0=9.1 +datum=WGS84").to_wkt("WKT2_2019", pretty=True)
# A datum shift of its own inside a CRS with a code.
BOUND = (
    pyproj.CRS("EPSG:31467")
    .to_wkt("WKT1_GDAL")
    .replace(',AUTHORITY["EPSG","6314"]', ",TOWGS84[598,73,418,0,0,-2,6]")
)
COMPOUND = f'COMPD_CS["both",{UTM.to_wkt("WKT1_GDAL")},VERT_CS["h",VERT_DATUM["d",2005],UNIT["metre",1],AXIS["Up",UP]]]'
NAMES = {
    "EPSG:25833": "EPSG:25833",
    "epsg:25833": "EPSG:25833",
    "  EPSG:25833\n": "EPSG:25833",
    "25833": "EPSG:25833",
    "urn:ogc:def:crs:EPSG::25833": "EPSG:25833",
    "urn:x-ogc:def:crs:EPSG:6.9:25833": "EPSG:25833",
    "http://www.opengis.net/def/crs/EPSG/0/25833": "EPSG:25833",
    "https://www.opengis.net/def/crs/EPSG/0/25833": "EPSG:25833",
    "http://www.opengis.net/gml/srs/epsg.xml#25833": "EPSG:25833",
    "OGC:CRS84": "OGC:CRS84",
    "urn:ogc:def:crs:OGC:1.3:CRS84": "OGC:CRS84",
    "http://www.opengis.net/def/crs/OGC/1.3/CRS84": "OGC:CRS84",
    "esri:54009": "ESRI:54009",
    "ignf:lamb93": "IGNF:LAMB93",
    "WGS 84 / UTM zone 33N": "EPSG:32633",
    "wgs84": "EPSG:4326",
    "ETRS89": "EPSG:4258",
    UTM.to_wkt(): "EPSG:32633",
    UTM.to_wkt("WKT1_GDAL"): "EPSG:32633",
    # A shapefile's .prj, which has no code.
    UTM.to_wkt("WKT1_ESRI"): "EPSG:32633",
    UTM.to_json(): "EPSG:32633",
    "+proj=utm +zone=33": "+proj=utm +zone=33",
    "proj=utm zone=33": "proj=utm zone=33",
    "+init=epsg:32633": "EPSG:32633",
    "urn:ogc:def:crs,crs:EPSG::27700,crs:EPSG::5701": "EPSG:7405",
    "EPSG:7415": "EPSG:7415",
    "EPSG:4979": "EPSG:4979",
    "EPSG:4326+5773": "EPSG:4326+5773",
    OWN: " ".join(OWN.split())[:199] + "…",
    BOUND: "EPSG:31467",
    COMPOUND: COMPOUND[:199] + "…",
}


@pytest.mark.parametrize("text", NAMES)
def test_known(text: str) -> None:
    found = coordinate_system(text)
    assert (found.problem, found.name) == (None, NAMES[text])


UNKNOWN = {
    "EPSG:999999": "CRS EPSG:999999 is not known to PROJ",
    "epsg:999999": "CRS EPSG:999999 is not known to PROJ",
    "999999": "CRS EPSG:999999 is not known to PROJ",
    "0": "CRS EPSG:0 is not known to PROJ",
    "LOCAL:1": "CRS LOCAL:1 is not known to PROJ",
    "hello world": "CRS hello world is not known to PROJ",
    "²": "CRS ² is not known to PROJ",
    "9" * 5000: "CRS 999",
    "PROJCS[oops]": "CRS PROJCS[oops] is not known to PROJ",
    "+proj=oops": "CRS +proj=oops is not known to PROJ",
    "{}": "CRS {} is not known to PROJ",
    '{"type": "oops"}': 'CRS {"type": "oops"} is not known to PROJ',
    "urn:ogc:def:crs:oops": "CRS urn:ogc:def:crs:oops is not known to PROJ",
    "EPSG:999999+5773": "CRS EPSG:999999+5773 is not known to PROJ",
    "EPSG:5773": "CRS EPSG:5773 is no map's or globe's (Vertical CRS)",
    "EPSG:4978": "CRS EPSG:4978 is no map's or globe's (Geocentric CRS)",
    'LOCAL_CS["site",UNIT["metre",1]]': 'CRS LOCAL_CS["site",UNIT["metre",1]] is no map',
    # The moon.
    "IAU_2015:30100": "CRS IAU_2015:30100 has no transformation to EPSG:4326",
    "a\0b\u202e\ud800": "CRS a\ufffdb\ufffd\ufffd is not known to PROJ",
    '{"a":' * 5000: "CRS {",
    "GEOGCS[" * 5000: "CRS GEOGCS[",
    "+proj=utm +zone=33 " * 50_000: "CRS +proj=utm",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_not_known(text: str) -> None:
    found = coordinate_system(text)
    assert found.problem is not None and found.problem.startswith(UNKNOWN[text])
    for shown in (found.problem, found.name):
        assert shown is not None and shown.isprintable() and len(shown) <= 200


@pytest.mark.parametrize("text", [None, "", " \n", float("nan")])
def test_nothing_declared(text: Any) -> None:
    found = examine([b"POINT(1 2)"], [text])
    assert found["crs"].isna()[0] and not found["is_crs_known"][0]
    assert found["is_within_crs"].isna()[0] and found["geometry"][0] is None
    assert found["problem"][0] == "no CRS is declared"


@pytest.mark.parametrize("crs", [[4326], [["EPSG:4326"]], [b"EPSG:4326"], [{"a": 1}]])
def test_a_crs_that_is_no_text_does_not_raise(crs: Any) -> None:
    assert len(examine([b"POINT(1 2)"], crs)) == 1


def test_proj_is_not_asked_for_what_its_database_does_not_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """PROJ searches a third of a second for a name, and 10 ms for a code: an hour for a column of them."""
    monkeypatch.setattr(coordinate_systems.pyproj.CRS, "from_user_input", lambda text: pytest.fail(text))
    assert not coordinate_system("Main Street 12").is_known
    assert not coordinate_system("EPSG:123456").is_known
    assert not coordinate_system("street[12]").is_known


def test_a_crs_is_built_once() -> None:
    assert coordinate_system("EPSG:3035") is coordinate_system("EPSG:3035")


def test_the_network_stays_off() -> None:
    _remembered.cache_clear()
    pyproj.network.set_network_enabled(True)
    try:
        coordinate_system("EPSG:27700")
        assert not pyproj.network.is_network_enabled()
    finally:
        pyproj.network.set_network_enabled(False)


def within(crs: str, x: float, y: float) -> bool:
    found = examine_points([x], [y], [crs])
    assert found["is_crs_known"][0], found["problem"][0]
    assert (found["geometry"][0] is not None) == found["is_within_crs"][0] == (found["problem"][0] is None)
    return bool(found["is_within_crs"][0])


@pytest.mark.parametrize(
    ("crs", "x", "y", "expected"),
    [
        ("EPSG:32633", 600_000, 5_340_000, True),
        ("EPSG:32633", 16.4, 48.2, False),
        ("EPSG:32633", 1.6e6, 5.3e6, False),
        ("EPSG:32633", 6e5, 1e7, False),
        ("EPSG:32633", 5.3e6, 6e5, False),
        # One degree beyond the zone, and a little more.
        ("EPSG:32633", 54_700, 1000, True),
        ("EPSG:32633", 54_400, 1000, False),
        ("EPSG:3857", 16.4, 48.2, True),
        ("EPSG:3857", 2.0037e7, 0, True),
        ("EPSG:3857", 2.01e7, 0, False),
        ("EPSG:3857", -2.01e7, 0, False),
        ("EPSG:3857", 0, 2.14e7, True),
        ("EPSG:3857", 0, -2.4e7, False),
        ("EPSG:3857", 1.8e6 + 25e6, 6.1e6, False),
        ("EPSG:3857", 1.8e6, 6.1e6 - 30e6, False),
        ("EPSG:4326", 16.4, 48.2, True),
        ("EPSG:4326", 48.2, 16.4, True),
        ("EPSG:4326", 180, 90, True),
        ("EPSG:4326", -180, -90, True),
        ("EPSG:4326", 185, 0, False),
        ("EPSG:4326", 0, 95, False),
        ("EPSG:4326", np.nextafter(180, 181), 0, False),
        ("EPSG:4326", 1e308, -1e308, False),
        ("OGC:CRS84", 0, -90.1, False),
        # Grads from Paris: 200 are half a turn.
        ("EPSG:4807", 3, 54, True),
        ("EPSG:4807", 190, 0, True),
        ("EPSG:4807", 0, 99, True),
        ("EPSG:4807", 201, 0, False),
        ("EPSG:4807", 0, 101, False),
        # The area crosses the antimeridian.
        ("EPSG:3460", 2_000_000, 4_000_000, True),
        ("EPSG:3460", 178, -18, False),
        ("EPSG:3832", 0, 0, True),
        ("EPSG:3832", 1.9e7, 0, False),
        # Around a pole: the box reaches as far in all four directions.
        ("EPSG:3031", 3.44e6, 0, True),
        ("EPSG:3031", 0, -3.44e6, True),
        ("EPSG:3031", 3.46e6, 0, False),
        ("EPSG:3413", 0, 0, True),
        # Nobody gives an area: there and back again.
        ("+proj=utm +zone=33", 600_000, 5_340_000, True),
        ("+proj=utm +zone=33", 2.02e7, 0, False),
        ("+proj=merc +units=ft", 1e6, 1e6, True),
        ("+proj=merc", 2.1e7, 0, False),
        # The edges of the world are not those of this map.
        ("ESRI:54032", 1e6, 1e6, True),
        ("ESRI:54032", 2.1e7, 2.1e7, False),
        # No code, and an area by it all the same.
        (UTM.to_wkt("WKT1_ESRI"), 16.4, 48.2, False),
        (COMPOUND, 600_000, 5_340_000, True),
        ("EPSG:7415", 155_000, 463_000, True),
        ("EPSG:7415", 5.4, 52.2, False),
    ],
)
def test_bounds(crs: str, x: float, y: float, expected: bool) -> None:
    assert within(crs, x, y) is expected


@pytest.mark.parametrize(
    ("crs", "x", "y", "problem"),
    [
        ("EPSG:32633", 1.6e6, 5.3e6, "x 1600000 is outside 54535..945465 of EPSG:32633"),
        ("EPSG:3857", 0.5, -2.4e7, "y -24000000 is outside -21493042..21493042 of EPSG:3857"),
        ("EPSG:4326", 185.125, 0, "x 185.125 is outside -180..180 of EPSG:4326"),
        ("+proj=merc", 2.1e7, 0.5, "x 21000000, y 0.5 in +proj=merc is no place on the globe"),
        (
            "+proj=merc +ellps=GRS80 +no_defs +lon_0=0 +units=m",
            2.1e7,
            0,
            "x 21000000, y 0 in the declared CRS is no place on the globe",
        ),
    ],
)
def test_out_of_bounds_is_told_by_coordinate(crs: str, x: float, y: float, problem: str) -> None:
    assert examine_points([x], [y], [crs])["problem"][0] == problem


def test_one_coordinate_outside_is_enough() -> None:
    found = examine([b"LINESTRING(600000 5340000,600001 5340000,600000 9999999)"], ["EPSG:32633"])
    assert found["is_within_crs"].tolist() == [False]
    assert found["problem"][0] == "y 9999999 is outside -110802..9441086 of EPSG:32633"
    assert found["is_valid"][0] and found["geometry"][0] is None


WKT_ONLY = pyproj.CRS("+proj=tmerc +lat_0=0 +lon_0=9 +k=1 +x_0=3500000 +ellps=bessel").to_wkt()
SYSTEMS = [
    "EPSG:2056",
    "EPSG:25832",
    "EPSG:25833",
    "EPSG:27700",
    "EPSG:3035",
    "EPSG:2193",
    "EPSG:4258",
    "EPSG:4269",
    "EPSG:4807",
    "EPSG:3413",
    "EPSG:3031",
    "EPSG:3460",
    "EPSG:3857",
    "EPSG:32661",
    "EPSG:2048",
    "EPSG:2263",
    "EPSG:5514",
    "+proj=laea +lat_0=52 +lon_0=10 +ellps=GRS80",
    WKT_ONLY,
]


def places(crs: str, count: int = 50) -> tuple[Any, Any]:
    """Coordinates all over the CRS's area."""
    system = pyproj.CRS(crs)
    area = system.area_of_use
    box = (5, 47, 15, 55) if area is None else area.bounds
    west, south, east, north = box
    rng = np.random.default_rng(len(crs))
    lon = rng.uniform(west, east if east > west else east + 360, count)
    lat = rng.uniform(south, min(north, 89.9), count)
    to_crs = pyproj.Transformer.from_crs("EPSG:4326", system, always_xy=True)
    return to_crs.transform(np.where(lon > 180, lon - 360, lon), lat)


@pytest.mark.parametrize("crs", SYSTEMS)
def test_coordinates_are_those_of_proj(crs: str) -> None:
    x, y = places(crs)
    lon, lat = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True).transform(x, y)
    of_points = examine_points(x, y, [crs] * len(x))
    of_values = examine(shapely.to_wkb(shapely.points(x, y)), [crs] * len(x))
    line = examine([shapely.to_wkb(shapely.linestrings(np.column_stack([x, y])))], [crs])
    for found in (of_points, of_values, line):
        assert found["is_within_crs"].all(), found["problem"][0]
        coordinates = shapely.get_coordinates(shapely.from_wkb(found["geometry"]))
        if found is line and line["geometry_type"][0] == "MultiLineString":
            # Cut at the antimeridian, with vertices there: in its order, all others are the line's own.
            coordinates = coordinates[np.isin(coordinates, np.column_stack([lon, lat])).all(axis=1)]
        assert np.array_equal(coordinates, np.column_stack([lon, lat]))


@pytest.mark.parametrize("crs", [*SYSTEMS, "EPSG:4326", "OGC:CRS84"])
def test_the_authority_s_order_is_that_of_proj(crs: str) -> None:
    x, y = places(crs, 5)
    in_order = pyproj.Transformer.from_crs("EPSG:4326", crs).transform(
        *reversed(pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True).transform(x, y))
    )
    as_xy = examine_points(x, y, [crs] * 5)
    as_authority = examine_points(*in_order, [crs] * 5, axis_order="authority")
    expected = shapely.get_coordinates(shapely.from_wkb(as_xy["geometry"]))
    found = shapely.get_coordinates(shapely.from_wkb(as_authority["geometry"]))
    # Some datums come back from the way out and in only this exact.
    assert np.abs(found - expected).max() < 1e-7


@pytest.mark.parametrize(
    ("crs", "is_north_first"),
    [
        ("EPSG:4326", True),
        ("OGC:CRS84", False),
        ("EPSG:2193", True),
        ("EPSG:32633", False),
        ("EPSG:3035", True),
        ("EPSG:32661", True),
        ("EPSG:5041", False),
        ("EPSG:3413", False),
        ("EPSG:4326+5773", True),
        ("+proj=longlat +datum=WGS84", False),
    ],
)
def test_axis_order(crs: str, is_north_first: bool) -> None:
    x, y = (16.5, 48.5) if "proj" in crs or "4326" in crs or "84" in crs else places(crs, 1)
    x, y = float(np.ravel(x)[0]), float(np.ravel(y)[0])
    line = shapely.LineString([(x, y), (x + 1e-3, y)])
    swapped = shapely.LineString([(y, x), (y, x + 1e-3)])
    as_xy = examine([shapely.to_wkb(line)], [crs])["geometry"][0]
    as_authority = examine(
        [shapely.to_wkb(swapped if is_north_first else line)], [crs], axis_order="authority"
    )
    assert as_authority["geometry"][0] == as_xy is not None


def test_a_wrong_axis_order_is_a_mistake_of_the_caller() -> None:
    for call in (
        lambda: examine([], [], axis_order="yx"),
        lambda: examine_points([], [], [], axis_order="yx"),
    ):
        with pytest.raises(ValueError, match="axis_order must be one of xy, authority, got 'yx'"):
            call()


@pytest.mark.parametrize(
    "crs", ["EPSG:4326", "OGC:CRS84", "EPSG:4979", "+proj=longlat +datum=WGS84", "EPSG:4326+5773"]
)
def test_longitude_and_latitude_stay_bit_for_bit(crs: str) -> None:
    xy = np.random.default_rng(7).uniform([-180, -90], [180, 90], (200, 2))
    xy[0] = (-0.0, 5e-324)
    found = examine_points(*xy.T, [crs] * 200)["geometry"]
    values = shapely.to_wkb(shapely.points(xy))
    assert found.tolist() == list(values)
    assert examine(values, [crs] * 200)["geometry"].tolist() == list(values)


def test_a_batch_of_many_systems_is_not_mixed_up() -> None:
    rows = [
        (crs, *(float(value) for value in pair))
        for crs in SYSTEMS
        for pair in zip(*places(crs, 3), strict=True)
    ]
    rows += [("LOCAL:1", 1.0, 2.0), ("EPSG:4326", 1.0, 2.0), ("EPSG:32633", 1.0, 2.0)]
    order = np.random.default_rng(3).permutation(len(rows))
    crs, x, y = zip(*(rows[at] for at in order), strict=True)
    together = examine(shapely.to_wkb(shapely.points(x, y)), crs)
    for row, at in enumerate(order):
        alone = examine_points([rows[at][1]], [rows[at][2]], [rows[at][0]])
        assert together["geometry"][row] == alone["geometry"][0]
        assert together["problem"][row] == alone["problem"][0]


def test_the_registry_prefers_epsg_and_flat() -> None:
    assert crs_registry.by_name("WGS 84") == "EPSG:4326"
    assert crs_registry.by_name("wgs 84 / pseudo-mercator") == "EPSG:3857"
    assert crs_registry.by_code("epsg:4326") == "EPSG:4326"
    assert crs_registry.by_code("EPSG:0") is None


def test_projjson_without_a_code_is_known() -> None:
    definition = pyproj.CRS(WKT_ONLY).to_json_dict()
    definition.pop("id", None)
    assert coordinate_system(json.dumps(definition)).is_known
