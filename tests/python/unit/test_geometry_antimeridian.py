"""Shapes that land over the antimeridian or around a pole: by random places, judged in the CRS that they landed in."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyproj
import pytest
import shapely
from shapely import LineString, MultiLineString, MultiPolygon, Point, box

from geostrata.geometry import examine
from geostrata.spatial.areas import area_m2, length_m

# CRS, a place in degrees, and the half size of a shape around it in the CRS's units.
PLACES = {
    "UTM 60S": ("EPSG:32760", (180, -17), 200),
    "UTM 60S at the equator": ("EPSG:32760", (180, -0.01), 500),
    "UTM 1N": ("EPSG:32601", (-180, 52), 3_000),
    "Pacific Mercator": ("EPSG:3832", (179.9, 10), 300_000),
    "Fiji": ("EPSG:3460", (180, -17), 40_000),
    "Alaska": ("EPSG:3338", (179.99, 52), 50_000),
    "NZTM, with no such place in it": ("EPSG:2193", (173, -41), 20_000),
    "Antarctic, around the pole": ("EPSG:3031", (0, -90), 1_000_000),
    "Antarctic, beside it": ("EPSG:3031", (180, -80), 400_000),
    "Antarctic, a corner on it": ("EPSG:3031", (135, -84), "corner"),
    "Arctic, around the pole": ("EPSG:3995", (90, 89), 500_000),
    "Arctic, turned": ("EPSG:3413", (0, 88), 700_000),
    "half the globe": ("EPSG:6931", (0, 90), 4_000_000),
}


def examined(shape: Any, crs: str, **how: Any) -> tuple[Any, Any]:
    found = examine([shapely.to_wkb(shape)], [crs], **how).iloc[0]
    return shapely.from_wkb(found.geometry), found


def shapes_at(crs: str, place: tuple[float, float], half: Any) -> list[Any]:
    x, y = to_degrees(crs).transform(*place, direction="INVERSE")
    if half == "corner":
        return [box(min(x, 0), min(y, 0), max(x, 0), max(y, 0))]
    disc = Point(x, y).buffer(half)
    square = box(x - half, y - 0.7 * half, x + 0.8 * half, y + half)
    holed = square.difference(box(x - 0.3 * half, y - 0.2 * half, x + 0.5 * half, y + 0.4 * half))
    apart = MultiPolygon(
        [box(x - half, y - half, x + half, y - 0.6 * half), box(x - half, y, x - 0.9 * half, y + half)]
    )
    return [disc, square, holed, apart]


def to_degrees(crs: str) -> Any:
    return pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)


@pytest.mark.parametrize("name", PLACES)
def test_places_lie_in_the_shape_that_they_lay_in_when_it_landed(name: str) -> None:
    crs, place, half = PLACES[name]
    chance = np.random.default_rng(1)
    for shape in shapes_at(crs, place, half):
        west, south, east, north = shape.bounds
        size = max(east - west, north - south)
        # Edges are straight where they landed, and straight on the map: with vertices enough both are the same.
        landed = shapely.segmentize(shape, size / 400)
        found, judged = examined(landed, crs)
        assert (judged.is_valid, judged.is_side_known, judged.is_within_crs) == (True, True, True)
        assert judged.geometry_type == found.geom_type
        assert shapely.is_valid(found)
        xy = chance.uniform(
            (west - size / 3, south - size / 3), (east + size / 3, north + size / 3), (4000, 2)
        )
        xy = np.concatenate(
            [
                xy,
                shapely.get_coordinates(landed)
                + chance.normal(0, size / 100, shapely.get_coordinates(landed).shape),
            ]
        )
        lon, lat = to_degrees(crs).transform(*xy.T)
        is_inside = shapely.contains_xy(landed, *xy.T)
        is_wrong = is_inside != shapely.contains_xy(found, lon, lat)
        off = shapely.distance(landed.boundary, shapely.points(xy[is_wrong]))
        assert 500 < is_inside.sum() < len(xy) - 500
        assert (off < size * 1e-4).all(), f"{is_wrong.sum()} wrong, {off.max()} off"
        # Measured on the map, and on one where areas are true.
        if abs(place[1]) > 70:
            areas = pyproj.Transformer.from_crs(
                crs, "EPSG:6931" if place[1] > 0 else "EPSG:6932", always_xy=True
            )
            drawn = _moved(shapely.segmentize(landed, size / 4000), areas)
            assert area_m2([found])[0] == pytest.approx(drawn.area, rel=1e-3)


def _moved(shape: Any, transformer: Any) -> Any:
    return shapely.transform(shape, lambda xy: np.column_stack(transformer.transform(*xy.T)))


def test_a_parcel_at_180_degrees_is_no_band_around_the_world() -> None:
    crs, place, half = PLACES["UTM 60S"]
    square = shapes_at(crs, place, half)[1]
    found, _ = examined(square, crs)
    assert (found.geom_type, len(found.geoms)) == ("MultiPolygon", 2)
    assert not found.intersects(LineString([(0, -90), (0, 90)]))
    assert sorted(np.round(part.bounds, 3).tolist() for part in found.geoms) == [
        [-180.0, -17.001, -179.998, -16.998],
        [179.998, -17.001, 180.0, -16.998],
    ]
    # No vertices but the parcel's own, and two on each side of the cut; a scale of 1.00085 lies between map and ground here.
    assert shapely.get_num_coordinates(found) == 10
    assert area_m2([found])[0] == pytest.approx(square.area, rel=3e-3)


@pytest.mark.parametrize("name", [name for name, (_, _, half) in PLACES.items() if half != "corner"])
def test_lines_are_cut_too(name: str) -> None:
    crs, place, half = PLACES[name]
    x, y = to_degrees(crs).transform(*place, direction="INVERSE")
    line = LineString(
        [(x - half, y + half / 9), (x + half, y - half / 9), (x + half, y), (x - half, y + half)]
    )
    landed = shapely.segmentize(line, half / 500)
    for shape in (landed, MultiLineString([landed, landed.parallel_offset(half / 7)])):
        found, judged = examined(shape, crs)
        assert judged.is_side_known and judged.geometry_type == found.geom_type
        lon, lat = to_degrees(crs).transform(*shapely.get_coordinates(shape).T)
        lon, lat = np.degrees(np.unwrap(np.radians(lon))), lat
        assert (np.abs(shapely.get_coordinates(found)[:, 0]) <= 180).all()
        # As long as the way from vertex to vertex.
        starts = np.cumsum([0, *(len(part.coords) for part in shapely.get_parts(shape))])
        geod = pyproj.Geod(ellps="WGS84")
        metres = sum(geod.line_length(lon[a:b], lat[a:b]) for a, b in pairwise(starts))
        # A straight step on the map is longer than a geodesic, next to a pole by far.
        assert length_m([found])[0] == pytest.approx(metres, rel=2e-3 if abs(place[1]) > 70 else 2e-4)


def test_long_edges_follow_the_way_they_had_when_they_landed() -> None:
    """A square around the pole of four corners only, and one that has a corner there."""
    found, _ = examined(box(-1e6, -1e6, 1e6, 1e6), "EPSG:3031")
    fine, _ = examined(shapely.segmentize(box(-1e6, -1e6, 1e6, 1e6), 1e4), "EPSG:3031")
    assert found.symmetric_difference(fine).area < 0.005 * fine.area
    assert found.contains(Point(77, -90).buffer(1).intersection(box(-180, -90, 180, 90)))


def test_a_geographic_edge_of_more_than_half_a_turn_is_nobodys_guess() -> None:
    unsure = [
        box(-179.9, -17, 179.9, -16),
        LineString([(179, 0), (-179, 1)]),
        MultiPolygon([box(0, 5, 1, 6), shapely.Polygon([(179, 0), (-179, 0), (-179, 1), (179, 1)])]),
    ]
    for crs in ("EPSG:4326", "EPSG:4269", "EPSG:4167"):
        for shape in unsure:
            found, judged = examined(shape, crs)
            assert not judged.is_side_known
            assert found is not None
    sure = [
        box(-180, -90, 180, 90),
        box(-180, -90, 180, -60),
        box(-90, 0, 90, 1),
        MultiPolygon([box(170, 0, 180, 1), box(-180, 0, -175, 1)]),
        shapely.MultiPoint([(179, 0), (-179, 0)]),
    ]
    for shape in sure:
        found, judged = examined(shape, "EPSG:4326")
        assert judged.is_side_known
        assert found.equals_exact(shape, 0)
    swapped, judged = examined(
        shapely.transform(unsure[1], lambda xy: xy[:, ::-1]), "EPSG:4326", axis_order="authority"
    )
    assert not judged.is_side_known and swapped.equals(unsure[1])


def test_the_world_on_maps_that_end_at_180_degrees_stays_as_it_is() -> None:
    for half in (20037508.342, 2e7):
        found, judged = examined(box(-half, -1e6, half, 1e6), "EPSG:3857")
        assert judged.is_side_known
        assert (found.geom_type, shapely.get_num_coordinates(found)) == ("Polygon", 5)
        assert found.contains(Point(0, 0))


def test_a_corner_at_180_degrees_leaves_nothing_on_the_other_side() -> None:
    """Where PROJ rounds to -180.00000000000003 or turns 180 into -180."""
    for crs, lat in (("EPSG:32601", 52), ("EPSG:32760", -17), ("EPSG:3338", 52)):
        lon = 179.9 if crs != "EPSG:32601" else -179.9
        ring = [(180.0 * np.sign(lon), lat), (lon, lat), (lon, lat + 0.1), (-180.0 * np.sign(lon), lat + 0.1)]
        landed = shapely.Polygon(
            np.column_stack(to_degrees(crs).transform(*np.array(ring).T, direction="INVERSE"))
        )
        found, judged = examined(landed, crs)
        assert judged.is_within_crs and judged.is_side_known
        large = [part for part in shapely.get_parts(found) if part.area > 1e-9]
        assert len(large) == 1 and large[0].area == pytest.approx(0.01, rel=1e-3)
