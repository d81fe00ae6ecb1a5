"""Distances on the spheroid, against brute force."""

from __future__ import annotations

from typing import Any

import geodesic_oracle as oracle
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import (
    GeometryCollection,
    LineString,
    MultiLineString,
    MultiPoint,
    MultiPolygon,
    Point,
    Polygon,
    box,
)
from spatial_shapes import awkward_shapes

from geostrata.spatial.geodesic import distance_m
from geostrata.spatial.spheroid import GEOD, in_space, longest_chord, longest_geodesic

TOLERANCE_M = 1e-4


def drawn(chance: np.random.Generator, size: float, middle: Any) -> Any:
    """A point, line, polygon or several, of about this size in degrees."""
    corners = middle + chance.uniform(-size, size, (int(chance.integers(1, 6)), 2))
    corners[:, 1] = np.clip(corners[:, 1], -90, 90)
    kind = chance.integers(5)
    if kind == 0 or len(corners) == 1:
        return Point(corners[0])
    if kind == 1 or len(corners) == 2:
        return LineString(corners)
    if kind == 2:
        return Polygon(corners).convex_hull
    if kind == 3:
        return MultiPoint(corners)
    return MultiLineString([corners[:2], corners[1:]])


@pytest.mark.parametrize("size", [1e-5, 1e-3, 0.1, 3.0, 40.0])
@pytest.mark.parametrize("place", ["anywhere", "antimeridian", "pole", "equator"])
def test_shapes_of_every_kind_are_as_far_apart_as_brute_force_says(size: float, place: str) -> None:
    chance = np.random.default_rng([int(size * 1e5), len(place)])
    at = {
        "anywhere": lambda: chance.uniform((-180, -85), (180, 85)),
        "antimeridian": lambda: np.array([chance.choice([-180, 180]), chance.uniform(-80, 80)]),
        "pole": lambda: np.array([chance.uniform(-180, 180), chance.choice([-90, 90])]),
        "equator": lambda: np.array([chance.uniform(-180, 180), 0]),
    }[place]
    pairs = []
    for _ in range(40):
        middle = at()
        # The other one beside it; at the antimeridian perhaps on the other side.
        beside = middle + chance.uniform(-3, 3, 2) * size
        if place == "antimeridian" and chance.random() < 0.5:
            beside[0] -= 2 * middle[0]
        if place == "pole":
            beside[0] = chance.uniform(-180, 180)
        pairs.append((drawn(chance, size, middle), drawn(chance, size, beside)))
    left, right = (np.array(side, dtype=object) for side in zip(*pairs, strict=True))
    expected = [oracle.distance(a, b) for a, b in pairs]
    assert distance_m(left, right) == pytest.approx(expected, abs=TOLERANCE_M, rel=0)
    assert distance_m(right, left) == pytest.approx(expected, abs=TOLERANCE_M, rel=0)


def test_points_are_as_far_apart_as_geographiclib_says() -> None:
    chance = np.random.default_rng(1)
    lon, lat = chance.uniform(-180, 180, (2, 5000)), np.degrees(np.arcsin(chance.uniform(-1, 1, (2, 5000))))
    # Nearly antipodal, the same, and at poles.
    lon[1, :500], lat[1, :500] = lon[0, :500] + 180, -lat[0, :500] + chance.normal(0, 0.1, 500)
    lon[1, 500:600], lat[1, 500:600] = lon[0, 500:600], lat[0, 500:600]
    lat[0, 600:700] = 90
    lat = np.clip(lat, -90, 90)
    found = distance_m(shapely.points(lon[0], lat[0]), shapely.points(lon[1], lat[1]))
    assert (found == GEOD.inv(lon[0], lat[0], lon[1], lat[1])[2]).all()


@pytest.mark.parametrize("reach", [1e-4, 0.1, 20, 180, 360])
def test_a_chord_bounds_its_geodesic(reach: float) -> None:
    chance = np.random.default_rng(2)
    lon, lat = chance.uniform(-180, 180, 50_000), np.degrees(np.arcsin(chance.uniform(-1, 1, 50_000)))
    there = (
        lon + chance.uniform(-reach, reach, 50_000),
        np.clip(lat + chance.uniform(-reach, reach, 50_000), -90, 90),
    )
    if reach == 360:
        there = (
            lon + 180 + chance.normal(0, 0.5, 50_000),
            np.clip(-lat + chance.normal(0, 0.5, 50_000), -90, 90),
        )
    metres = GEOD.inv(lon, lat, *there)[2]
    chord = np.linalg.norm(in_space(lon, lat) - in_space(*there), axis=1)
    assert (metres <= longest_geodesic(chord) + 1e-7).all()
    assert (chord <= longest_chord(metres) + 1e-7).all()


def test_awkward_shapes_against_each_other() -> None:
    shapes = [shape for shape in awkward_shapes() if shape is not None and not shape.is_empty]
    # The spiral has too many corners for brute force.
    shapes = [shape for shape in shapes if shapely.get_num_coordinates(shape) < 20]
    pairs = [(a, b) for a in shapes for b in shapes]
    left, right = (np.array(side, dtype=object) for side in zip(*pairs, strict=True))
    expected = [oracle.distance(a, b) for a, b in pairs]
    assert distance_m(left, right) == pytest.approx(expected, abs=TOLERANCE_M, rel=0)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        # An arc round the pole, seen from its other side: two valleys, at both ends.
        (Point(0.5, 85), LineString([(90, 80), (-90 + 360, 80)])),
        (Point(180, 89), LineString([(-100, 88), (100, 88)])),
        # The pole itself, as a point and as the border of a polygon.
        (Point(37, 90), LineString([(-180, 89), (180, 89)])),
        (Point(37, 90), box(0, 89.9, 10, 90)),
        (box(50, 89.9, 60, 90), box(0, 89.9, 10, 90)),
        # Spirals into the pole.
        (Point(10, 89.99), LineString([(0, 89), (170, 90)])),
        (Point(200, 89.5), LineString([(0, 89), (359, 89.9)])),
        # Half the earth in one edge.
        (Point(30, 30), LineString([(-170, -80), (170, 75)])),
        (LineString([(-170, 10), (170, 12)]), LineString([(-170, -10), (170, -12)])),
        (LineString([(0, 60), (40, 61)]), LineString([(0, 59.99), (40, 60.98)])),
        # Parallel: the same distance all along.
        (LineString([(0, 50), (10, 50)]), LineString([(0, 50.1), (10, 50.1)])),
        (LineString([(0, -1), (10, 0)]), LineString([(0, 0), (10, 1)])),
        # Nearly antipodal.
        (Point(0, 0), LineString([(179, 1), (181, -0.5)])),
        (box(0, 0, 1, 1), box(179, -2, 181, -1)),
        # Across the antimeridian, drawn beyond 180 and not.
        (box(179, 0, 180, 1), box(-179.9, 0, -179, 1)),
        (box(179, 0, 181, 1), Point(-179.5, 0.5)),
        (box(179, 0, 181, 1), Point(-178.5, 0.5)),
        (box(179, 0, 180, 1), box(-180, 1, -179, 2)),
        # In a hole, and a sliver.
        (Point(0.5, 0.5), Polygon(box(0, 0, 1, 1).exterior, [box(0.4, 0.4, 0.7, 0.9).exterior])),
        (Point(0, 0.1), Polygon([(-3, 0), (3, 1e-9), (3, 2e-9)])),
        # A corner that is repeated, and collections within collections.
        (Point(3, 3), LineString([(0, 0), (1, 1), (1, 1), (2, 0)])),
        (
            GeometryCollection([Point(0, 0), GeometryCollection([box(1, 1, 2, 2)])]),
            LineString([(3, 0), (3, 4)]),
        ),
        (GeometryCollection([Point(0, 0), box(1, 1, 3, 3)]), Point(2, 2)),
        (MultiPolygon([box(0, 0, 1, 1), box(5, 5, 6, 6)]), MultiPoint([(3, 3), (4, 5.5)])),
    ],
)
def test_places_where_the_plane_misleads(a: Any, b: Any) -> None:
    expected = oracle.distance(a, b)
    assert distance_m([a, b], [b, a]) == pytest.approx([expected] * 2, abs=TOLERANCE_M, rel=0)


def test_near_the_focus_of_an_edge_no_valley_is_missed() -> None:
    """Where many points of an edge are equally far, valleys are shallow and close to each other."""
    chance = np.random.default_rng(3)
    pairs = []
    for _ in range(60):
        start = np.array([chance.uniform(-180, 180), chance.uniform(88, 89.99)])
        edge = LineString([start, np.add(start, (chance.uniform(5, 170), chance.uniform(-1, 0.01)))])
        pairs.append((Point(chance.uniform(-180, 180), 90 - 10 ** chance.uniform(-5, 0)), edge))
    left, right = (np.array(side, dtype=object) for side in zip(*pairs, strict=True))
    expected = [oracle.distance(a, b) for a, b in pairs]
    assert distance_m(left, right) == pytest.approx(expected, abs=TOLERANCE_M, rel=0)


def test_shapes_that_meet_are_not_apart_at_all() -> None:
    line = LineString([(0, 0), (1, 0.3), (2, 0)])
    on_it = line.interpolate(0.25, normalized=True)
    meeting = [
        (line, LineString([(0.5, -1), (0.6, 1)])),
        (box(0, 0, 3, 3), box(1, 1, 2, 2)),
        (box(0, 0, 1, 1), box(1, 0, 2, 1)),
        (Point(0.5, 0.5), box(0, 0, 1, 1)),
        (Point(1, 0.3), line),
        (Point(180, 5), Point(-180, 5)),
        (box(170, 0, 190, 10), box(-175, 5, -174, 6)),
    ]
    left, right = (np.array(side, dtype=object) for side in zip(*meeting, strict=True))
    assert (distance_m(left, right) == 0).all()
    assert distance_m([on_it], [line])[0] < 1e-8


def test_what_has_no_place_has_no_distance() -> None:
    nowhere = [
        None,
        Point(),
        Polygon(),
        LineString([(0, 0), (0, 91)]),
        GeometryCollection(),
        Point(0, -90.0001),
    ]
    assert np.isnan(distance_m(nowhere, [Point(0, 0)] * len(nowhere))).all()
    assert np.isnan(distance_m([Point(0, 0)] * len(nowhere), nowhere)).all()
    assert len(distance_m([], [])) == 0


def test_a_shared_edge_is_equally_far_for_both_shapes_to_the_last_bit() -> None:
    """Or the order of neighbours at the same distance would be a matter of chance."""
    chance = np.random.default_rng(4)
    for _ in range(50):
        ends = np.add(chance.uniform(-1, 1, (2, 2)), (10, 50))
        one, other = LineString(ends), LineString(ends[::-1])
        points = shapely.points(np.add(chance.uniform(-2, 2, (20, 2)), (10, 50)))
        assert (distance_m(points, one) == distance_m(points, other)).all()


def test_many_corners_against_many() -> None:
    """Pruning by balls against measuring edge by edge."""
    chance = np.random.default_rng(5)
    turn = np.linspace(0, 2 * np.pi, 300)
    wave = 1 + 0.2 * np.sin(7 * turn) + chance.uniform(0, 0.05, 300)
    blob = np.column_stack([np.cos(turn), np.sin(turn)]) * wave[:, None]
    one, other = Polygon(blob[:-1]), Polygon(np.add(blob[:-1], (2.6, 0.4)))
    points = shapely.points(chance.uniform(-4, 4, (200, 2)))

    def edge_by_edge(shape: Any, edges: Any) -> float:
        return float(distance_m(np.full(len(edges), shape), edges).min())

    parts = np.array([LineString(edge) for edge in oracle.edges(one)])
    expected = [0.0 if one.intersects(point) else edge_by_edge(point, parts) for point in points]
    assert distance_m(points, one) == pytest.approx(expected, abs=1e-7, rel=0)
    lines = np.array([LineString(edge) for edge in oracle.edges(other)])
    expected_of_both = min(edge_by_edge(part, lines) for part in parts)
    assert distance_m([one], [other])[0] == pytest.approx(expected_of_both, abs=1e-7, rel=0)


degrees = st.tuples(st.floats(-180, 180, width=32), st.floats(-90, 90, width=32))


@settings(max_examples=150, deadline=None)
@given(degrees, degrees, degrees)
def test_any_point_and_edge(
    point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]
) -> None:
    a, b = Point(point), LineString([start, end]) if start != end else Point(start)
    assert distance_m([a], [b])[0] == pytest.approx(oracle.distance(a, b), abs=TOLERANCE_M, rel=0)
