"""Pairs by index against every pair tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from shapely import Point, box
from spatial_shapes import awkward_points, awkward_shapes, random_shapes

from geostrata.spatial.grid import PointGrid
from geostrata.spatial.pairs import PREDICATES, ShapeIndex
from geostrata.spatial.wkb import point_coordinates, shapes_of

SEEDS = range(4)


def brute_force(left: Any, right: Any, predicate: str) -> set[tuple[int, int]]:
    test = getattr(shapely, predicate)
    found = test(np.asarray(left, dtype=object)[:, None], np.asarray(right, dtype=object)[None, :])
    return {(int(a), int(b)) for a, b in np.argwhere(found)}


def column(shapes: Any) -> pa.Array:
    return pa.array(shapely.to_wkb(np.asarray(shapes, dtype=object)).tolist(), pa.binary())


def by_index(left: Any, right: Any, predicate: str) -> set[tuple[int, int]]:
    index = ShapeIndex(np.asarray(right, dtype=object), predicate)
    numbers = index.find(column(left))
    pairs = list(zip(*(side.tolist() for side in numbers), strict=True))
    assert pairs == sorted(pairs)
    assert len(set(pairs)) == len(pairs)
    return set(pairs)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("predicate", PREDICATES)
def test_points_meet_awkward_shapes_as_in_brute_force(predicate: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    shapes = np.array(awkward_shapes(), dtype=object)
    points = shapely.points(awkward_points(shapes, chance, 300))
    expected = brute_force(points, shapes, predicate)
    assert by_index(points, shapes, predicate) == expected
    if predicate != "contains":
        assert len(expected) > 1000


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("predicate", PREDICATES)
def test_shapes_of_all_kinds_meet_as_in_brute_force(predicate: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    left = np.append(awkward_shapes(), random_shapes(chance, 60))
    right = np.append(random_shapes(chance, 60), awkward_shapes())
    left = np.append(left, shapely.points(awkward_points(left, chance, 10)))
    assert by_index(left, right, predicate) == brute_force(left, right, predicate)


@pytest.mark.parametrize("cells", [1, 2, 7, 100, 10_000, 1 << 20])
def test_the_number_of_cells_has_no_say(cells: int) -> None:
    chance = np.random.default_rng(5)
    shapes = random_shapes(chance, 40)
    places = awkward_points(shapes, chance, 400)
    grid = PointGrid.of(shapes, cells)
    for includes_border, predicate in ((True, "intersects"), (False, "within")):
        point, shape = grid.find(places[:, 0], places[:, 1], includes_border)
        expected = brute_force(shapely.points(places), shapes, predicate)
        assert set(zip(point.tolist(), shape.tolist(), strict=True)) == expected
        assert len(point) == len(expected)


def test_points_on_the_lines_of_the_grid_itself() -> None:
    shapes = np.array([box(0, 0, 8, 8), box(2, 2, 6, 6)], dtype=object)
    grid = PointGrid.of(shapes, 64)
    lines = np.arange(grid.size[0]) / grid.scale[0] + grid.origin[0]
    beside = np.concatenate([lines, np.nextafter(lines, 100), np.nextafter(lines, -100)])
    x, y = (side.ravel() for side in np.meshgrid(beside, beside))
    point, shape = grid.find(x, y, includes_border=True)
    expected = brute_force(shapely.points(x, y), shapes, "intersects")
    assert set(zip(point.tolist(), shape.tolist(), strict=True)) == expected


def test_missing_and_infinite_places_are_nowhere() -> None:
    grid = PointGrid.of(np.array([box(-1, -1, 1, 1)], dtype=object))
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1e300])
    point, _ = grid.find(x, np.zeros(5), includes_border=True)
    assert point.tolist() == [3]


@pytest.mark.parametrize("shapes", [[], [None], [Point(1, 1)], [shapely.Polygon()]])
def test_a_grid_over_nothing_finds_nothing(shapes: list[Any]) -> None:
    grid = PointGrid.of(np.array(shapes, dtype=object))
    assert grid.find(np.zeros(3), np.zeros(3), includes_border=True)[0].tolist() == []


def test_an_empty_column_and_unreadable_values_join_with_nothing() -> None:
    index = ShapeIndex(np.array([box(-1, -1, 1, 1)], dtype=object), "intersects")
    assert index.find(pa.array([], pa.binary()))[0].tolist() == []
    values = [None, b"", b"rubbish", shapely.to_wkb(Point(0, 0)), shapely.to_wkb(Point())]
    assert index.find(pa.array(values, pa.binary()))[0].tolist() == [3]


def test_coordinates_are_read_from_plain_points_only() -> None:
    points = shapely.points(np.random.default_rng(1).uniform(-90, 90, (50, 2)))
    plain = column(points)
    for part in (plain, plain.slice(7, 20), pa.chunked_array([plain.slice(0, 3), plain.slice(3)])):
        x, y = point_coordinates(part) or ([], [])
        assert np.array_equal(np.column_stack([x, y]), shapely.get_coordinates(shapes_of(part)))
    for other in (
        shapely.to_wkb(points, byte_order=0),
        shapely.to_wkb(shapely.force_3d(points)),
        shapely.to_wkb(shapely.set_srid(points, 4326), include_srid=True),
        np.append(shapely.to_wkb(points), None),
        [*shapely.to_wkb(points), shapely.to_wkb(box(0, 0, 1, 1))],
        [],
    ):
        assert point_coordinates(pa.array(list(other), pa.binary())) is None


def test_shapes_of_any_row_number_are_found() -> None:
    """Beyond 2^21 rows, where a shape's number once ran out of its bits."""
    shapes = random_shapes(np.random.default_rng(8), 40)
    places = awkward_points(shapes, np.random.default_rng(9), 300)
    rows = np.concatenate([np.arange(20), (1 << 21) + np.arange(-5, 5), (1 << 22) + np.arange(-3, 7)])
    among = np.full(int(rows.max()) + 1, None)
    among[rows] = shapes
    point, shape = PointGrid.of(among).find(places[:, 0], places[:, 1], includes_border=True)
    expected = brute_force(shapely.points(places), shapes, "intersects")
    assert set(zip(point.tolist(), shape.tolist(), strict=True)) == {(a, int(rows[b])) for a, b in expected}
    assert (shape >= 1 << 21).sum() > 100
