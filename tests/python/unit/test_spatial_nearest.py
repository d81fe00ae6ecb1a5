"""Nearest neighbours, pairs within a distance, and snapping, against every pair measured."""

from __future__ import annotations

from functools import cache
from typing import Any

import geodesic_oracle as oracle
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import LineString, MultiLineString, Point, Polygon, box
from shapely.ops import substring
from spatial_shapes import awkward_shapes, random_shapes

from geostrata.spatial import nearest as nearest_module
from geostrata.spatial.geodesic import distance_m
from geostrata.spatial.nearest import NearestIndex
from geostrata.spatial.snapping import LineIndex
from geostrata.spatial.within_distance import WithinDistanceIndex

NOWHERE = [None, Point(), Polygon(), Point(0, 91)]


def places(chance: np.random.Generator, count: int, where: str) -> Any:
    if where == "everywhere":
        return np.column_stack(
            [chance.uniform(-180, 180, count), np.degrees(np.arcsin(chance.uniform(-1, 1, count)))]
        )
    if where == "antimeridian":
        lon = (chance.normal(180, 0.5, count) + 180) % 360 - 180
        return np.column_stack([lon, chance.normal(60, 0.3, count)])
    if where == "pole":
        return np.column_stack([chance.uniform(-180, 180, count), -90 + np.abs(chance.normal(0, 0.5, count))])
    if where == "crowd":
        return np.add(chance.normal(0, 1e-6, (count, 2)), (10, 50))
    # On a grid, where many are equally far, and some are in the same place.
    return chance.integers(-6, 7, (count, 2)) / 4.0


def expected_nearest(metres: Any, ids: Any, k: int, limit_m: float = np.inf) -> list[tuple[int, int, int]]:
    """Left, right and rank, from a table of all distances."""
    found = []
    for left, row in enumerate(metres):
        order = [right for right in np.lexsort((ids, row)) if row[right] <= limit_m][:k]
        found += [(left, int(right), rank) for rank, right in enumerate(order, 1)]
    return found


def rows(found: Any) -> list[tuple[int, int, int]]:
    return list(zip(found.left.tolist(), found.right.tolist(), found.rank.tolist(), strict=True))


@pytest.mark.parametrize("where", ["everywhere", "antimeridian", "pole", "crowd", "grid"])
@pytest.mark.parametrize(("k", "limit_m"), [(1, None), (5, None), (7, 90_000.0), (3, 0.0), (1000, None)])
def test_points_near_points(where: str, k: int, limit_m: float | None) -> None:
    chance = np.random.default_rng([k, len(where)])
    left, right = places(chance, 150, where), places(chance, 120, where)
    ids = chance.permutation(120)
    metres = oracle.point_distances(left, right)
    found = NearestIndex.of(shapely.points(right), ids).find(shapely.points(left), k, limit_m)
    assert rows(found) == expected_nearest(metres, ids, k, np.inf if limit_m is None else limit_m)
    assert (found.distance_m == metres[found.left, found.right]).all()


def test_the_order_of_equals_is_that_of_their_ids_whatever_these_are() -> None:
    around = [Point(1, 0), Point(-1, 0), Point(1, 0), Point(0, 0.5)]
    found = NearestIndex.of(around, ["b", "c", "a", "z"]).find([Point(0, 0)], 4)
    assert found.right.tolist() == [3, 2, 0, 1]
    assert found.rank.tolist() == [1, 2, 3, 4]


def test_more_candidates_are_asked_for_where_chords_and_geodesics_disagree() -> None:
    """Seen from a pole's far side, chords to the north and to the east differ in order from geodesics."""
    chance = np.random.default_rng(6)
    turn = chance.uniform(0, 2 * np.pi, 400)
    # All nearly as far as each other, a quarter round the earth.
    ring = np.column_stack([np.degrees(turn) - 180, 45 + 1e-3 * np.sin(3 * turn)])
    left = np.array([[0.0, 89.9], [10.0, 90.0], [77.0, -89.5]])
    found = NearestIndex.of(shapely.points(ring), np.arange(400)).find(shapely.points(left), 20)
    assert rows(found) == expected_nearest(oracle.point_distances(left, ring), np.arange(400), 20)


def mixed(seed: int) -> tuple[Any, Any]:
    """All kinds in one region, on both sides of the antimeridian, at a pole, and nowhere."""
    chance = np.random.default_rng(seed)
    shapes = np.append(awkward_shapes(), random_shapes(chance, 25))
    moved = shapely.transform(random_shapes(chance, 10), lambda xy: xy * 0.1 + (179.9, 60))
    polar = shapely.transform(
        random_shapes(chance, 6), lambda xy: np.column_stack([xy[:, 0] * 50, 88 + xy[:, 1] * 0.2])
    )
    lines = shapely.boundary(random_shapes(chance, 10))
    points = shapely.points(
        np.concatenate([places(chance, 20, where) for where in ("everywhere", "antimeridian", "grid")])
    )
    sides = np.concatenate([shapes, moved, polar, lines, points, np.array(NOWHERE, dtype=object)])
    order = chance.permutation(len(sides))
    return sides[order[: len(order) // 2]], sides[order[len(order) // 2 :]]


@cache
def measured(seed: int) -> tuple[Any, Any, Any]:
    """Both sides, and the distances of all pairs."""
    left, right = mixed(seed)
    return left, right, np.nan_to_num(distance_m(left[:, None], right[None, :]), nan=np.inf)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shapes_near_shapes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Several pieces of work instead of one.
    monkeypatch.setattr(nearest_module, "_SHAPES", 64)
    left, right, metres = measured(seed)
    ids = np.random.default_rng(seed).permutation(len(right))
    index = NearestIndex.of(right, ids)
    for k, limit_m in ((1, None), (4, None), (3, 250_000.0), (len(right) + 5, None), (2, 0.0)):
        found = index.find(left, k, limit_m)
        expected = expected_nearest(metres, ids, k, np.finfo(float).max if limit_m is None else limit_m)
        assert rows(found) == expected
        assert (found.distance_m == metres[found.left, found.right]).all()


def test_shapes_near_shapes_as_brute_force_says() -> None:
    """The same with nothing of ours: where the oracle sees a difference, the order must be its order."""
    chance = np.random.default_rng(9)
    left = np.append(random_shapes(chance, 6), shapely.points(places(chance, 8, "grid")))
    right = np.append(shapely.boundary(random_shapes(chance, 5)), random_shapes(chance, 5))
    left, right = (shapely.simplify(side, 0.2, preserve_topology=True) for side in (left, right))
    left, right = left[~shapely.is_empty(left)], right[~shapely.is_empty(right)]
    metres = np.array([[oracle.distance(a, b) for b in right] for a in left])
    found = NearestIndex.of(right, np.arange(len(right))).find(left, 3)
    assert found.distance_m == pytest.approx(np.sort(metres, axis=1)[:, :3].ravel(), abs=1e-4, rel=0)
    assert metres[found.left, found.right] == pytest.approx(found.distance_m, abs=1e-4, rel=0)


@pytest.mark.parametrize("where", ["everywhere", "antimeridian", "pole", "crowd", "grid"])
@pytest.mark.parametrize("limit_m", [0.0, 0.1, 40_000.0, 3_000_000.0, 30_000_000.0])
def test_points_within_a_distance(where: str, limit_m: float) -> None:
    chance = np.random.default_rng([len(where), int(limit_m)])
    left, right = places(chance, 150, where), places(chance, 120, where)
    metres = oracle.point_distances(left, right)
    # One that is just so far, and one that is a nanometre farther.
    for limit in (limit_m, metres[3, 4], np.nextafter(metres[3, 4], 0)):
        found = WithinDistanceIndex.of(shapely.points(right), limit).find(shapely.points(left))
        assert np.column_stack(found).tolist() == np.argwhere(metres <= limit).tolist()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("limit_m", [0.0, 1.0, 30_000.0, 2_000_000.0])
def test_shapes_within_a_distance(seed: int, limit_m: float) -> None:
    left, right, metres = measured(seed)
    found = WithinDistanceIndex.of(right, limit_m).find(left)
    assert np.column_stack(found).tolist() == np.argwhere(metres <= limit_m).tolist()
    some = float(metres[np.isfinite(metres) & (metres > 0)][7])
    found = WithinDistanceIndex.of(right, some).find(left)
    assert np.column_stack(found).tolist() == np.argwhere(metres <= some).tolist()


def test_the_inside_of_a_shape_as_wide_as_the_world_is_far_from_its_border() -> None:
    right = [box(-179, -89, 179, 89), Point(3, 0)]
    found = NearestIndex.of(right, [2, 1]).find([Point(0, 0)], 1)
    assert (found.right.tolist(), found.distance_m.tolist()) == ([0], [0.0])
    assert [side.tolist() for side in WithinDistanceIndex.of(right, 10.0).find([Point(0, 0)])] == [[0], [0]]


@pytest.mark.parametrize("right", [[], NOWHERE, [Point(1, 2)], [box(0, 0, 1, 1), None]])
def test_little_or_nothing_on_either_side(right: list[Any]) -> None:
    for left in ([], NOWHERE, [Point(0, 0), None]):
        near = sum(shape is not None and not shape.is_empty and shape.bounds[3] <= 90 for shape in right)
        known = sum(shape is not None and not shape.is_empty and shape.bounds[3] <= 90 for shape in left)
        assert len(NearestIndex.of(right, np.arange(len(right))).find(left, 3).left) == near * known
        assert len(WithinDistanceIndex.of(right, 1e8).find(left)[0]) == near * known


degrees = st.tuples(st.floats(-180, 180, width=32), st.floats(-90, 90, width=32))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(degrees, min_size=1, max_size=12), st.lists(degrees, min_size=1, max_size=12), st.integers(1, 13)
)
def test_any_points(left: list[tuple[float, float]], right: list[tuple[float, float]], k: int) -> None:
    metres = oracle.point_distances(np.array(left), np.array(right))
    found = NearestIndex.of(shapely.points(right), np.arange(len(right))).find(shapely.points(left), k)
    assert rows(found) == expected_nearest(metres, np.arange(len(right)), k)


def test_points_snap_to_the_nearest_place_of_the_nearest_line() -> None:
    chance = np.random.default_rng(11)
    walks = [np.cumsum(chance.normal(0, 0.02, (30, 2)), axis=0) + chance.uniform(-1, 1, 2) for _ in range(12)]
    lines = np.array([LineString(walk) for walk in walks])
    points = shapely.points(chance.uniform(-1.2, 1.2, (60, 2)))
    found = LineIndex(lines, np.arange(12)).snap(points)
    metres = distance_m(points[:, None], lines[None, :])
    assert found.left.tolist() == list(range(60))
    assert found.right.tolist() == metres.argmin(axis=1).tolist()
    assert found.distance_m == pytest.approx(metres.min(axis=1))
    # The snapped point is so far from the point, and on the line.
    assert distance_m(points, found.places) == pytest.approx(found.distance_m, abs=1e-6)
    assert distance_m(found.places, lines[found.right]).max() < 1e-6
    # So far along: what a cut at that place leaves.
    for line, place, position in zip(lines[found.right], found.places, found.position_m, strict=True):
        start = shapely.line_locate_point(line, place)
        cut = substring(line, 0, start)
        length = 0.0 if cut.geom_type == "Point" else oracle.GEOD.geometry_length(cut)
        assert position == pytest.approx(length, abs=1e-3)


def test_positions_run_in_the_lines_direction_over_its_parts() -> None:
    eastward = LineString([(0, 0), (1, 0), (2, 0)])
    parts = MultiLineString([[(2, 1), (1, 1)], [(0, 1), (-1, 1)]])
    degree = oracle.GEOD.inv(0, 0, 1, 0)[2]
    northern = oracle.GEOD.inv(0, 1, 1, 1)[2]
    index = LineIndex([eastward, eastward.reverse(), parts, None], [1, 2, 3, 4])
    found = index.snap([Point(1.5, -0.1), Point(-0.5, 1.1), Point(5, 0), None, Point()])
    assert (found.left.tolist(), found.right.tolist()) == ([0, 1, 2], [0, 2, 0])
    assert found.position_m == pytest.approx([1.5 * degree, northern + northern / 2, 2 * degree], abs=20)
    assert found.position_m[0] == pytest.approx(1.5 * degree, abs=1e-3)
    turned = LineIndex([eastward.reverse()], [1]).snap([Point(1.5, -0.1)])
    assert turned.position_m == pytest.approx([0.5 * degree], abs=1e-3)


def test_only_lines_within_reach_are_snapped_to() -> None:
    index = LineIndex([LineString([(0, 0), (1, 0)])], [1])
    found = index.snap([Point(0.5, 0.001), Point(0.5, 0.01)], 200.0)
    assert found.left.tolist() == [0]
    on_it = index.snap([Point(0.25, 0)], 0.0)
    assert (on_it.distance_m.tolist(), on_it.places[0].y) == ([0.0], 0.0)
