"""A point is in a shape if, and only if, its cell is core or has a chip that the point is in. Oracle: GEOS on the whole shape, and the
h3 package for cells."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import h3.api.basic_int as h3
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import shapely
from dbt.adapters.sedona import python_macros
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geostrata.spatial import tessellation
from geostrata.spatial.tessellation import Cells, cover, refine


def blob(lon: float, lat: float, size: float, corners: int, seed: int, raggedness: float = 0.3) -> Any:
    chance = np.random.default_rng(seed)
    turn = np.sort(chance.uniform(0, 2 * np.pi, corners))
    radius = size * (1 - raggedness + raggedness * chance.random(corners))
    ring = np.column_stack([lon + radius * np.cos(turn), lat + radius * np.sin(turn)])
    return shapely.make_valid(shapely.Polygon(ring))


def split(shape: Any) -> Any:
    """A shape that sticks out over the antimeridian, as GeoJSON has it: two parts."""
    west = shapely.transform(shape, lambda xy: xy - (360, 0))
    world = shapely.box(-180, -90, 180, 90)
    return shapely.union(shapely.intersection(shape, world), shapely.intersection(west, world))


SHAPES = {
    "ragged": (blob(10.5, 48.5, 0.04, 900, 1), 9),
    "of few corners": (shapely.Polygon([(10, 48), (10.31, 48.02), (10.28, 48.17), (10.03, 48.21)]), 8),
    "with holes": (
        shapely.difference(
            blob(3, 43, 0.05, 80, 2),
            shapely.union(blob(3.01, 43.01, 0.01, 30, 3), blob(2.98, 43, 0.006, 5, 4)),
        ),
        9,
    ),
    "of several parts": (
        shapely.union_all([blob(0, 0, 0.02, 60, 5), blob(0.05, 0.01, 0.015, 50, 6), blob(2, 1, 0.01, 9, 7)]),
        9,
    ),
    "a sliver": (shapely.Polygon([(20, 60), (20.3, 60.0001), (20.6, 60), (20.3, 60.00005)]), 9),
    "smaller than a cell": (blob(-70.1, -33.2, 0.0003, 12, 8), 7),
    "long edges beside short ones": (
        shapely.Polygon(
            [*shapely.get_coordinates(blob(30, 10, 0.02, 400, 9))[:200], (31.5, 9.7), (31.5, 9.2)]
        ).buffer(0),
        8,
    ),
    "over the antimeridian": (split(blob(180.01, -17, 0.2, 150, 10)), 7),
    "touching the antimeridian": (
        shapely.Polygon([(179.7, 65), (180, 65.02), (180, 65.2), (179.8, 65.3)]),
        6,
    ),
    "around the north pole": (
        shapely.Polygon([(-180, 84), (-90, 82), (0, 85), (100, 81.5), (180, 84), (180, 90), (-180, 90)]),
        3,
    ),
    "a hole around the south pole": (
        shapely.difference(shapely.box(-180, -90, 180, -80), shapely.box(-180, -90, 180, -88)),
        3,
    ),
    "near the pole": (blob(40, 89.2, 0.5, 60, 11), 5),
    "around a pentagon": (blob(10.536, 64.7, 0.3, 200, 12), 7),
    "at an edge of the icosahedron": (blob(31.8, 11.25, 0.3, 100, 13), 5),
    "large": (blob(12, 40, 15, 300, 14), 3),
    "the world": (shapely.box(-180, -90, 180, 90), 1),
    "in small cells": (blob(7, 51, 0.00004, 25, 15), 14),
}


def points_against(shape: Any, found: Cells, resolution: int, seed: int, count: int = 3000) -> Any:
    """Anywhere in and around the shape; on its corners and edges; on those of chips; on cells' borders; and their next neighbours."""
    chance = np.random.default_rng(seed)
    west, south, east, north = shape.bounds
    grow = 0.05 * max(east - west, north - south)
    even = chance.uniform((west - grow, south - grow), (east + grow, north + grow), (count, 2))
    corners = shapely.get_coordinates(shape)
    along = chance.random((count, 1))
    start = chance.integers(0, max(1, len(corners) - 1), count)
    on_edges = corners[start] + (corners[(start + 1) % len(corners)] - corners[start]) * along
    halves = (corners[:-1] + corners[1:]) / 2
    chips = shapely.get_coordinates(found.chip[~found.is_core])
    some = chance.choice(found.cell, min(len(found), 200), replace=False)
    borders = np.array([corner[::-1] for cell in some.tolist() for corner in h3.cell_to_boundary(cell)])
    xy = np.concatenate([even, corners, on_edges, halves, chance.permutation(chips)[:count], borders])
    xy = np.concatenate([xy, np.nextafter(xy, chance.choice([-1000, 1000], xy.shape))])
    on_globe = (np.abs(xy[:, 0]) <= 180) & (np.abs(xy[:, 1]) <= 90)
    return xy[on_globe]


def differences(shape: Any, found: Cells, resolution: int, xy: Any) -> int:
    assert len(np.unique(found.cell)) == len(found), "each cell once"
    rows = {cell: row for row, cell in enumerate(found.cell.tolist())}
    row = np.array([rows.get(h3.latlng_to_cell(lat, lon, resolution), -1) for lon, lat in xy.tolist()])
    chips = np.append(found.chip, None)[row]
    is_core = np.append(found.is_core, False)[row]
    shapely.prepare(shape)
    wrong = 0
    for test in (shapely.contains_xy, shapely.intersects_xy):
        wrong += int(((is_core | test(chips, *xy.T)) != test(shape, *xy.T)).sum())
    return wrong


@pytest.mark.parametrize("name", SHAPES)
def test_says_the_same_as_the_whole_shape(name: str) -> None:
    shape, resolution = SHAPES[name]
    assert shapely.is_valid(shape)
    found = cover([shape], resolution)
    assert len(found) > 0
    assert shapely.is_valid(found.chip[~found.is_core]).all()
    assert shapely.is_missing(found.chip[found.is_core]).all()
    assert differences(shape, found, resolution, points_against(shape, found, resolution, seed=1)) == 0


@pytest.mark.parametrize("name", SHAPES)
def test_in_two_steps_too(name: str) -> None:
    shape, resolution = SHAPES[name]
    coarse = cover([shape], max(0, resolution - 3), is_final=False)
    found = refine(coarse, resolution)
    assert differences(shape, found, resolution, points_against(shape, found, resolution, seed=2)) == 0
    at_once = cover([shape], resolution)
    assert set(found.cell[found.is_core].tolist()) == set(at_once.cell[at_once.is_core].tolist())
    assert set(found.cell.tolist()) == set(at_once.cell.tolist())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lon=st.floats(-180, 180),
    sine=st.floats(-1, 1),
    resolution=st.integers(0, 15),
    corners=st.integers(3, 40),
    size=st.floats(0.3, 6),
    seed=st.integers(0, 2**32 - 1),
)
def test_anywhere_at_any_resolution(
    lon: float, sine: float, resolution: int, corners: int, size: float, seed: int
) -> None:
    edge = math.degrees(h3.average_hexagon_edge_length(resolution, "km") / 6371)
    shape = blob(lon, math.degrees(math.asin(sine)), size * edge, corners, seed)
    shape = tessellation.polygons([shapely.intersection(split(shape), shapely.box(-180, -90, 180, 90))])[0]
    if shape is None or not shapely.is_valid(shape):
        return
    found = cover([shape], resolution)
    assert differences(shape, found, resolution, points_against(shape, found, resolution, seed, 400)) == 0


def test_most_of_a_large_shape_is_core() -> None:
    shape, resolution = SHAPES["ragged"]
    found = cover([shape], resolution)
    hexagons = [
        shapely.Polygon([corner[::-1] for corner in h3.cell_to_boundary(cell)])
        for cell in found.cell.tolist()
    ]
    inside = shapely.contains_properly(shape, hexagons)
    # All but those whose border comes within a thousandth of the outline.
    assert found.is_core.sum() >= inside.sum() - 2
    assert not (found.is_core & ~inside).any()


def test_chips_are_small() -> None:
    shape, resolution = SHAPES["long edges beside short ones"]
    chips = cover([shape], resolution).chip
    assert shapely.get_num_coordinates(chips[~shapely.is_missing(chips)]).mean() < 30


def test_shapes_keep_their_numbers_and_others_have_no_cells() -> None:
    ragged, few = SHAPES["ragged"][0], SHAPES["of few corners"][0]
    line = shapely.LineString([(10, 48), (11, 49)])
    given = [None, ragged, shapely.Point(10, 48), shapely.Polygon(), few, line]
    found = cover(given, 8)
    assert set(found.shape.tolist()) == {1, 4}
    for number in (1, 4):
        alone = cover([given[number]], 8)
        assert set(alone.cell.tolist()) == set(found.cell[found.shape == number].tolist())
    assert len(cover([], 8)) == len(cover([None], 8)) == 0


def test_of_a_collection_its_area_counts() -> None:
    few = SHAPES["of few corners"][0]
    mixed = shapely.GeometryCollection(
        [few, shapely.LineString([(0, 0), (1, 1)]), shapely.MultiPolygon([shapely.box(20, 20, 20.1, 20.1)])]
    )
    area = tessellation.polygons([mixed])[0]
    assert area.equals(shapely.MultiPolygon([few, shapely.box(20, 20, 20.1, 20.1)]))


def test_an_invalid_shape_fails_nothing() -> None:
    bow = shapely.Polygon([(0, 0), (0.1, 0.1), (0.1, 0), (0, 0.1)])
    assert len(cover([bow], 7)) > 0


@pytest.mark.parametrize("resolution", range(16))
def test_grown_hexagons_hold_the_points_of_their_cells(resolution: int) -> None:
    """The margin: points on the very border of a cell, found by halving, lie well inside of its grown hexagon."""
    chance = np.random.default_rng(resolution)
    places = np.column_stack(
        [chance.uniform(-180, 180, 150), np.degrees(np.arcsin(chance.uniform(-1, 1, 150)))]
    )
    cells = {h3.latlng_to_cell(lat, lon, resolution) for lon, lat in places.tolist()}
    for pentagon in h3.get_pentagons(resolution):
        cells |= set(h3.grid_disk(pentagon, 2))
    numbers = np.array(sorted(cells))
    hexagons = tessellation.hexagons_of(numbers)
    tested = 0
    for cell, hexagon in zip(numbers.tolist(), hexagons, strict=True):
        if hexagon is None:
            continue
        raw = np.array([corner[::-1] for corner in h3.cell_to_boundary(cell)])
        middle = raw.mean(axis=0)
        # Half of what the hexagon was grown by must be enough.
        smaller = shapely.transform(
            hexagon, lambda xy, middle=middle: middle + (xy - middle) * (1 - tessellation._GROWTH / 2)
        )
        shapely.prepare(smaller)
        for _ in range(6):
            corner = chance.integers(len(raw))
            share = chance.random()
            towards = raw[corner] * (1 - share) + raw[(corner + 1) % len(raw)] * share - middle
            low, high = 0.0, 2.0
            for _ in range(50):
                half = (low + high) / 2
                lon, lat = middle + towards * half
                is_own = abs(lat) <= 90 and h3.latlng_to_cell(lat, lon, resolution) == cell
                low, high = (half, high) if is_own else (low, half)
            border = middle + towards * low
            assert shapely.contains_xy(smaller, *border), (cell, border.tolist())
            tested += 1
    assert tested > (100 if resolution else 20)


@pytest.mark.parametrize("resolution", range(13))
def test_boxes_hold_the_points_of_descendants(resolution: int) -> None:
    chance = np.random.default_rng(100 + resolution)
    finer = resolution + 3
    lat = np.degrees(np.arcsin(chance.uniform(-1, 1, 1500)))
    places = [
        *zip(chance.uniform(-180, 180, 1500).tolist(), lat.tolist(), strict=True),
        (180.0, 12.0),
        (-180.0, 12.0),
    ]
    for pentagon in h3.get_pentagons(finer)[:6]:
        around = h3.grid_disk(pentagon, 4)
        places += [corner[::-1] for cell in around for corner in h3.cell_to_boundary(cell)]
    for fine in [h3.latlng_to_cell(lat, lon, finer) for lon, lat in places]:
        places.append(h3.cell_to_latlng(fine)[::-1])
    places += [(lon, lat) for lon in (-180.0, 0.0, 77.0, 180.0) for lat in (-90.0, -89.9999, 89.9999, 90.0)]
    cells = np.array(
        [h3.cell_to_parent(h3.latlng_to_cell(lat, lon, finer), resolution) for lon, lat in places]
    )
    boxes = tessellation._Boxes.around(cells)
    xy = np.array(places)[boxes.row]
    inside = (xy >= boxes.bounds[:, :2]).all(axis=1) & (xy <= boxes.bounds[:, 2:]).all(axis=1)
    assert np.bincount(boxes.row, inside).all()


def test_children_are_those_of_the_h3_package() -> None:
    cells = np.array([*h3.get_res0_cells(), *h3.get_pentagons(5), h3.latlng_to_cell(48, 10, 5)])
    found, rows = tessellation.children(cells)
    for row, cell in enumerate(cells.tolist()):
        assert sorted(found[rows == row].tolist()) == sorted(h3.cell_to_children(cell))
    all_below, ancestor = tessellation.descendants(
        np.array([h3.get_pentagons(2)[0], h3.latlng_to_cell(48, 10, 3)]), 4
    )
    assert (np.bincount(ancestor) == [41, 7]).all()
    assert len(np.unique(all_below)) == 48


def test_the_chosen_resolution_keeps_both_limits() -> None:
    # A zone of 25 km2 has 237 cells of resolution 9, and 1,660 of 10.
    assert tessellation.choose_resolution(25e6, 200 * 25e6) == 9
    # A hundred thousand of them would have too many.
    assert tessellation.choose_resolution(25e6, 100_000 * 25e6) == 7
    assert tessellation.choose_resolution(1.0, 1.0) == 15
    assert tessellation.choose_resolution(5e14, 5e14) == 1
    areas = tessellation.rough_areas_m2([shapely.box(10, 48, 10.1, 48.1), None, shapely.Point(1, 1)])
    assert areas[0] == pytest.approx(82.8e6, rel=0.01)
    assert areas[1:].tolist() == [0, 0]


# --- as workers do it, in batches ----------------------------------------------------------------------------------------------

MACROS = python_macros.load(Path(__file__).parents[3] / "macros" / "python" / "tessellation.py")
NAMES = ["name", "h3", "is_core", "chip"]


def test_batches_large_shapes_first_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tessellation, "_LARGE", 2)
    monkeypatch.setitem(MACROS._in_small_batches.__globals__, "_ROWS", 3)
    shapes = {name: shape for name, (shape, resolution) in SHAPES.items() if 6 <= resolution <= 9}
    wkb = [*shapely.to_wkb(list(shapes.values())), None, b"no shape"]
    given = pa.record_batch({"name": [*shapes, "none", "unreadable"], "shape": pa.array(wkb, pa.binary())})
    parts = [
        part
        for batch in MACROS._in_small_batches([given], "shape")
        for part in MACROS._parts(batch, "name", "shape", 5, NAMES)
    ]
    names = [name for part in parts for name in part.column("name").to_pylist()]
    assert len(names) > len(set(names)), "some shape came in parts"
    cells = [
        found
        for batch in parts
        for small in MACROS._in_small_batches([batch], "chip")
        for found in MACROS._cells(small, "name", 8, NAMES)
    ]
    table = pa.Table.from_batches(cells)
    assert set(table.column("name").to_pylist()) == set(shapes)
    for name, shape in shapes.items():
        own = table.filter(pc.equal(table.column("name"), name))
        found = Cells(
            np.zeros(len(own), dtype=np.int64),
            own.column("h3").to_numpy(),
            own.column("is_core").to_numpy(),
            shapely.from_wkb(own.column("chip").to_numpy()),
        )
        assert differences(shape, found, 8, points_against(shape, found, 8, seed=3, count=1000)) == 0
