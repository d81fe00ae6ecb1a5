"""Cells as conditions: judged on the cells of random places."""

from __future__ import annotations

import re

import h3.api.basic_int as h3
import numpy as np
import pytest
import shapely
from spatial_shapes import random_shapes

from geostrata.spatial.touched import MAX_RANGES, parents_of, rows_condition, shapes_condition, touched_cells


def is_met(condition: str, cell: int) -> bool:
    if condition in ("true", "false"):
        return condition == "true"
    ranges = re.findall(r"between (\d+) and (\d+)", condition)
    return any(int(low) <= cell <= int(high) for low, high in ranges)


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
    for metres in (0.0, 5_000.0):
        shapes = random_shapes(chance, 5)
        cells = touched_cells([], shapes, 6, metres)
        condition = rows_condition(cells, "h3", 9)
        xy = chance.uniform(-5, 5, (4000, 2))
        points = shapely.points(xy)
        reach = metres / 112_000
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
    boxes = [
        tuple(map(float, found))
        for found in re.findall(
            r"<= (\S+) and bbox.xmax >= (\S+) and bbox.ymin <= (\S+) and bbox.ymax >= ([^\s)]+)", condition
        )
    ]
    assert len(boxes) == len(cells)
    places = chance.uniform(-3, 3, (4000, 2))
    inside = shapely.points([xy for xy in places if h3.latlng_to_cell(xy[1], xy[0], 4) in cells])
    assert len(inside) > 5
    named = 0
    for shape in shapes:
        west, south, east, north = shape.bounds
        is_named = any(west <= e and east >= w and south <= n and north >= s for e, w, n, s in boxes)
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
