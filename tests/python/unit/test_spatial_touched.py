"""Cells as conditions: judged on the cells of random places."""

from __future__ import annotations

import re
from typing import Any

import h3.api.basic_int as h3
import numpy as np
import pytest
import shapely
from spatial_shapes import random_shapes

from geostrata.spatial.cells import reach_bounds
from geostrata.spatial.touched import MAX_RANGES, parents_of, rows_condition, shapes_condition, touched_cells


def is_met(condition: str, cell: int) -> bool:
    if condition in ("true", "false"):
        return condition == "true"
    ranges = re.findall(r"between (\d+) and (\d+)", condition)
    return any(int(low) <= cell <= int(high) for low, high in ranges)


def boxes_of(condition: str) -> Any:
    """West, south, east and north of the boxes that a condition on shapes names."""
    found = re.findall(
        r"bbox.xmin <= (\S+) and bbox.xmax >= (\S+) and bbox.ymin <= (\S+) and bbox.ymax >= ([^\s)]+)",
        condition,
    )
    return np.array(found, dtype=float).reshape(-1, 4)[:, [1, 3, 0, 2]]


def awkward_cells(resolution: int) -> list[int]:
    """At the antimeridian and the poles, pentagons, cells on the edges of H3's icosahedron (which run between pentagons), any others."""
    chance = np.random.default_rng(resolution)
    pentagons = h3.get_pentagons(resolution)
    middles = np.array([h3.cell_to_latlng(cell) for cell in pentagons])
    places = [(90, 0), (-90, 0), *((lat, 180) for lat in chance.uniform(-89, 89, 6))]
    places += list((middles[chance.integers(0, 12, 8)] + middles[chance.integers(0, 12, 8)]) / 2)
    places += list(
        np.column_stack([np.degrees(np.arcsin(chance.uniform(-1, 1, 8))), chance.uniform(-180, 180, 8)])
    )
    return sorted({h3.latlng_to_cell(*place, resolution) for place in places} | set(pentagons[:4]))


def outermost_places(cell: int, stored: int) -> Any:
    """Longitudes and latitudes of the descendants that stick out farthest, towards all sides: each by the centre of one that has them
    as its cell."""
    lat, lon = h3.cell_to_latlng(cell)
    level = [cell]
    for finer in range(h3.get_resolution(cell) + 1, stored + 1):
        level = [child for own in level for child in h3.cell_to_children(own, finer)]
        places = np.array([h3.cell_to_latlng(own) for own in level])
        out = np.column_stack([(places[:, 1] - lon + 180) % 360 - 180, places[:, 0] - lat])
        out[:, 0] *= np.cos(np.radians(lat))
        angles = np.arange(0, 2 * np.pi, np.pi / 12)
        far = out @ np.array([np.cos(angles), np.sin(angles)])
        level = [level[at] for at in np.unique(np.argsort(-far, axis=0)[:2])]
    return np.array([h3.cell_to_latlng(own)[::-1] for own in level])


@pytest.mark.parametrize("resolution", range(14))
def test_shapes_where_only_descendants_reach_are_named(resolution: int) -> None:
    """A shape as small as a point, at a place whose stored cell descends from a touched cell and lies outside its outline: and the other
    way round, the place when the shape has changed."""
    stored = min(resolution + 3, 15)
    missed = outside = 0
    for cell in awkward_cells(resolution):
        places = outermost_places(cell, stored)
        boxes = boxes_of(shapes_condition([cell]))
        is_near = (places[:, None] >= boxes[None, :, :2]) & (places[:, None] <= boxes[None, :, 2:])
        missed += int((~is_near.all(axis=2).any(axis=1)).sum())
        outside += sum(h3.latlng_to_cell(lat, lon, resolution) != cell for lon, lat in places)
        lon, lat = places[0]
        changed = touched_cells([], [shapely.Point(lon, lat)], resolution)
        assert is_met(rows_condition(changed, "h3", stored), h3.latlng_to_cell(lat, lon, stored))
    assert outside > 50
    assert missed == 0


@pytest.mark.parametrize("resolution", [0, 1, 5, 9, 13])
def test_the_reach_of_cells_is_not_much_larger_than_it_must_be(resolution: int) -> None:
    chance = np.random.default_rng(resolution)
    cells = np.array([h3.latlng_to_cell(lat, 20.0, resolution) for lat in chance.uniform(-60, 60, 30)])
    _, south, _, north = reach_bounds(cells).T
    for number, cell in enumerate(cells.tolist()):
        height = np.ptp([lat for lat, _ in h3.cell_to_boundary(cell)])
        assert height < north[number] - south[number] < 2 * height


def test_cells_at_the_antimeridian_name_shapes_on_both_sides() -> None:
    cell = h3.latlng_to_cell(-17, 180, 6)
    boxes = boxes_of(shapes_condition([cell]))
    for lon in (179.999, 180.0, -180.0, -179.999):
        assert any(w <= lon <= e for w, _, e, _ in boxes)
    assert not any(w <= 0 <= e for w, _, e, _ in boxes)
    # Within no metres, a shape may be drawn beyond 180 degrees.
    assert any(w <= 180.001 <= e for w, _, e, _ in boxes_of(shapes_condition([cell], 0.0)))


@pytest.mark.parametrize("resolution", [0, 3, 7, 9])
def test_a_condition_holds_for_the_children_and_no_other(resolution: int) -> None:
    chance = np.random.default_rng(resolution)
    places = np.column_stack(
        [np.degrees(np.arcsin(chance.uniform(-1, 1, 3000))), chance.uniform(-180, 180, 3000)]
    )
    stored = [h3.latlng_to_cell(lat, lon, 9) for lat, lon in places]
    chosen = sorted({h3.cell_to_parent(cell, resolution) for cell in stored[:40]})
    condition = rows_condition(chosen, "h3", 9)
    for cell in stored:
        assert is_met(condition, cell) == (h3.cell_to_parent(cell, resolution) in chosen)


def test_neighbouring_cells_are_one_range() -> None:
    parent = h3.latlng_to_cell(48, 15, 5)
    children = sorted(h3.cell_to_children(parent, 7))
    assert rows_condition(children, "h3", 9) == rows_condition([parent], "h3", 9)
    assert rows_condition([*children[:5], *children[6:]], "h3", 9).count("between") == 2
    everything = sorted(h3.get_res0_cells())
    assert rows_condition(everything, "h3", 9).count("between") == 1


def test_every_point_that_a_changed_shape_touches_is_named() -> None:
    chance = np.random.default_rng(3)
    for metres in (None, 0.0, 5_000.0):
        shapes = random_shapes(chance, 5)
        cells = touched_cells([], shapes, 6, metres)
        condition = rows_condition(cells, "h3", 9)
        xy = chance.uniform(-5, 5, (4000, 2))
        points = shapely.points(xy)
        reach = (metres or 0.0) / 112_000
        near = (shapely.distance(points[:, None], shapes[None, :]) <= reach).any(axis=1)
        assert 100 < near.sum() < len(points)
        named = np.array([is_met(condition, h3.latlng_to_cell(lat, lon, 9)) for lon, lat in xy])
        assert named[near].all()
        assert not named.all()


def test_shapes_that_matter_in_the_cells_are_named_by_their_boxes() -> None:
    chance = np.random.default_rng(4)
    shapes = random_shapes(chance, 200)
    cells = sorted({h3.latlng_to_cell(lat, lon, 4) for lon, lat in chance.uniform(-3, 3, (5, 2))})
    condition = shapes_condition(cells)
    boxes = boxes_of(condition)
    assert len(boxes) == len(cells)
    places = chance.uniform(-3, 3, (4000, 2))
    inside = shapely.points([xy for xy in places if h3.latlng_to_cell(xy[1], xy[0], 4) in cells])
    assert len(inside) > 5
    named = 0
    for shape in shapes:
        west, south, east, north = shape.bounds
        is_named = any(west <= e and east >= w and south <= n and north >= s for w, s, e, n in boxes)
        named += is_named
        assert is_named or not shapely.intersects(shape, inside).any()
    assert 0 < named < len(shapes)


def test_many_cells_are_told_by_their_parents() -> None:
    chance = np.random.default_rng(6)
    scattered = {h3.latlng_to_cell(lat, lon, 7) for lon, lat in chance.uniform(-60, 60, (3000, 2))}
    cells = touched_cells(scattered, [], 7)
    assert rows_condition(cells, "h3", 9).count("between") <= MAX_RANGES
    condition = rows_condition(cells, "h3", 7)
    assert all(is_met(condition, cell) for cell in scattered)


def test_nothing_touched_is_nothing_to_do() -> None:
    assert touched_cells([], [], 7) == []
    assert (rows_condition([], "h3", 9), shapes_condition([])) == ("false", "false")


def test_stored_cells_lie_in_their_parents_and_what_is_no_cell_in_none() -> None:
    stored = [h3.latlng_to_cell(48 + step / 50, 15, 9) for step in range(60)]
    coarse = h3.latlng_to_cell(20, 15, 5)
    given = np.array([*stored, *stored, coarse, 0, -1, 12345], dtype=np.int64)
    assert parents_of(given, 7).tolist() == sorted({h3.cell_to_parent(cell, 7) for cell in stored})
    assert parents_of(given[:0], 7).tolist() == []
