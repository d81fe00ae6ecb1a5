"""Outlines of H3 cells, covers and compact sets, against the h3 package and plain shapely over the whole globe. No Spark."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import h3.api.basic_int as h3
import numpy as np
import pandas as pd
import pytest
import shapely
from dbt.adapters.sedona import python_macros
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from geostrata.spatial import cells as kernel

FILE = Path(__file__).parents[3] / "macros" / "python" / "h3_cells.py"
FUNCTIONS = {
    function.__name__: function for function in python_macros.public_functions(python_macros.load(FILE))
}
RESOLUTIONS = range(16)
# A pole that is a corner of cells, cells on the antimeridian at many latitudes, and around all pentagons.
PLACES = [
    (90.0, 0.0),
    (-90.0, 0.0),
    (0.0, 180.0),
    (66.0, -180.0),
    (-45.0, 180.0),
    (84.0, 179.999),
    (52.5, 13.4),
]
Cells = Any


def some_cells(resolution: int, count: int = 60, seed: int = 1) -> Cells:
    """Random ones of the globe, and those where things go wrong: with all pentagons and their neighbours."""
    random = np.random.default_rng([seed, resolution])
    lat = np.degrees(np.arcsin(random.uniform(-1, 1, count)))
    lon = random.uniform(-180, 180, count)
    found = {h3.latlng_to_cell(*place, resolution) for place in zip(lat, lon, strict=True)}
    for place in PLACES:
        found |= set(h3.grid_disk(h3.latlng_to_cell(*place, resolution), 1))
    for pentagon in h3.get_pentagons(resolution):
        found |= set(h3.grid_disk(pentagon, 1))
    return np.array(sorted(found))


def globe(resolution: int) -> Cells:
    return np.array([cell for base in h3.get_res0_cells() for cell in h3.cell_to_children(base, resolution)])


def corners(cell: int) -> Any:
    return np.array(h3.cell_to_boundary(cell))[:, ::-1]


def width(cell: int) -> float:
    """Degrees, about."""
    return math.degrees(math.sqrt(h3.cell_area(cell, unit="rads^2")))


# Outlines


@pytest.mark.parametrize("resolution", [0, 1, 2])
def test_outlines_tile_the_map(resolution: int) -> None:
    outlines = kernel.boundaries(globe(resolution))
    assert shapely.is_valid(outlines).all()
    assert shapely.area(outlines).sum() == pytest.approx(360 * 180, abs=1e-9)
    left, right = shapely.STRtree(outlines).query(outlines, predicate="overlaps")
    assert shapely.area(shapely.intersection(outlines[left], outlines[right])).max(initial=0) < 1e-11


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_an_outline_has_the_corners_that_h3_gives(resolution: int) -> None:
    cells = some_cells(resolution)
    for cell, outline in zip(cells.tolist(), kernel.boundaries(cells), strict=True):
        assert outline.is_valid
        assert min(outline.bounds[:2]) >= -180 and max(outline.bounds[2:]) <= 180
        assert all(part.exterior.is_ccw for part in shapely.get_parts(outline))
        ring = corners(cell)
        ring = ring[np.abs(ring[:, 1]) < 90 - 1e-9]
        assert shapely.distance(outline.boundary, shapely.points(ring)).max() < 1e-12
        crosses = np.ptp(ring[:, 0]) > 180
        has_pole = abs(outline.bounds[1]) == 90 or outline.bounds[3] == 90
        if not crosses and not has_pole:
            # Away from the edges of the map, a fine cell is nothing but its corners.
            assert (
                outline.equals_exact(shapely.Polygon(ring), 1e-12) or resolution < 9 or abs(ring[0, 1]) > 60
            )


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_an_outline_holds_the_places_of_its_cell(resolution: int) -> None:
    """Places on and near the borders of cells too: H3 itself says whose they are."""
    random = np.random.default_rng(resolution)
    for cell in random.choice(some_cells(resolution), 12, replace=False).tolist():
        centre = kernel._vectors(np.array(h3.cell_to_latlng(cell))[::-1])
        ring = kernel._vectors(corners(cell))
        along = random.uniform(0, 1, (len(ring), 4, 1))
        edges = ring[:, None] + (np.roll(ring, -1, axis=0) - ring)[:, None] * along
        out = random.choice([0.3, 0.99, 1 - 1e-9, 1 + 1e-9, 1.01, 1.2], (len(ring), 4, 1))
        places = kernel._lonlats((centre + (edges - centre) * out).reshape(-1, 3))
        for lon, lat in places.tolist():
            own = h3.latlng_to_cell(lat, lon, resolution)
            others = np.array([other for other in h3.grid_disk(own, 1) if other != own])
            place = shapely.Point(lon, lat)
            # Next to a pole H3's own coordinates are good to a decimetre.
            margin_m = 0.1 if abs(lat) > 89.9 else 0.0
            assert shapely.intersects(kernel._outlines(np.array([own]), 1.002, margin_m)[0], place)
            assert not shapely.intersects(kernel._outlines(others, 0.998, -margin_m), place).any()


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_grown_outlines_are_valid_everywhere(resolution: int) -> None:
    cells = some_cells(resolution)
    plain = kernel.boundaries(cells)
    for smaller, larger in [
        (kernel._outlines(cells, growth_m=-1e-6), plain),
        (plain, kernel._outlines(cells, growth_m=1e-6)),
        (kernel._outlines(cells, growth_m=1e-6), kernel._outlines(cells, factor=1.002)),
    ]:
        assert shapely.is_valid(smaller).all() and shapely.is_valid(larger).all()
        assert (shapely.area(smaller) < shapely.area(larger)).all()


def test_a_cell_on_the_antimeridian_is_cut_there() -> None:
    for resolution in RESOLUTIONS:
        cell = h3.latlng_to_cell(-45, 180, resolution)
        outline = kernel.boundaries([cell])[0]
        assert outline.geom_type == "MultiPolygon"
        west, east = sorted(outline.geoms, key=lambda part: part.bounds[0])
        assert west.bounds[0] == -180 and east.bounds[2] == 180
        assert outline.area < 3 * width(cell) ** 2


def test_a_cell_around_a_pole_reaches_the_edge_of_the_map() -> None:
    for resolution in RESOLUTIONS:
        for lat in (90, -90):
            disk = np.array(h3.grid_disk(h3.latlng_to_cell(lat, 0, resolution), 1))
            outlines = kernel.boundaries(disk)
            cap = shapely.box(-180, min(lat, lat * (1 - 1e-9)), 180, max(lat, lat * (1 - 1e-9)))
            assert shapely.union_all(outlines).covers(cap)
            assert shapely.area(shapely.intersection(outlines, cap)).sum() == pytest.approx(cap.area)


def test_a_pole_that_is_a_corner() -> None:
    """Three cells of resolution 15 meet at the south pole: each has its share of that edge of the map."""
    disk = np.array(h3.grid_disk(h3.latlng_to_cell(-90, 0, 15), 1))
    outlines = kernel.boundaries(disk)
    edges = shapely.length(
        shapely.intersection(shapely.boundary(outlines), shapely.LineString([(-180, -90), (180, -90)]))
    )
    assert (edges > 0).sum() == 3
    assert edges.sum() == pytest.approx(360)


def test_no_cells_no_outlines() -> None:
    assert len(kernel.boundaries([])) == 0


# Covers


class Around:
    """All cells that a shape could have, drawn once."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.outlines = kernel.boundaries(cells)
        self.centres = shapely.points(np.array([h3.cell_to_latlng(cell) for cell in cells.tolist()])[:, ::-1])

    def covering(self, shape: Any, mode: str) -> set[int]:
        """By definition, cell by cell."""
        if mode == "center":
            found = shapely.intersects(shape, self.centres)
        else:
            test = shapely.covers if mode == "contains" else shapely.intersects
            found = test(shape, self.outlines)
        return set(self.cells[found].tolist())


def places_in(shape: Any, random: Any, count: int = 60) -> Any:
    """Its corners, places on its edges, and others that are inside."""
    west, south, east, north = shape.bounds
    inside = np.column_stack([random.uniform(west, east, count), random.uniform(south, north, count)])
    inside = inside[shapely.intersects_xy(shape, *inside.T)]
    line = shape.boundary if shapely.get_dimensions(shape) == 2 else shape
    on_edge = [
        shapely.get_coordinates(part.interpolate(random.uniform(0, part.length, count)))
        for part in shapely.get_parts(line)
        if part.length
    ]
    return np.concatenate([shapely.get_coordinates(shape), inside, *on_edge])


def assert_covered(shape: Any, around: Around, resolution: int, random: Any) -> None:
    """All modes of one shape against all cells around it, and against what H3 says of places in it."""
    found = {mode: set(kernel.covers([shape], resolution, mode)[0].tolist()) for mode in kernel.MODES}
    for mode in ("center", "contains", "exact"):
        assert found[mode] == around.covering(shape, mode), mode
    assert found["contains"] <= found["exact"] <= found["overlaps"]
    for lon, lat in places_in(shape, random).tolist():
        assert h3.latlng_to_cell(lat, lon, resolution) in found["overlaps"]
    for cell in found["overlaps"] - found["exact"]:
        # Hardly another: closer than half a hundredth of a cell. Next to a pole the map knows no distances.
        lat = abs(h3.cell_to_latlng(cell)[0]) + width(cell)
        if lat < 89:
            near = 0.005 * width(cell) / math.cos(math.radians(lat))
            assert shapely.distance(shape, kernel.boundaries([cell])[0]) < near


def star(random: Any, lon: float, lat: float, radius: float, points: int = 12) -> Any:
    angle = np.sort(random.uniform(0, 2 * np.pi, points))
    reach = radius * random.uniform(0.3, 1, points)
    return shapely.make_valid(
        shapely.Polygon(np.column_stack([lon + reach * np.cos(angle), lat + reach * np.sin(angle)]))
    )


@pytest.mark.parametrize("resolution", [*range(3, 16)])
def test_covers_of_shapes_of_all_kinds(resolution: int) -> None:
    random = np.random.default_rng(resolution)
    for lat, lon in [(0.0, 0.0), (-33.0, 151.0), (52.5, 13.4), (58.0, 6.0), (70.0, -100.0)]:
        middle = h3.latlng_to_cell(lat, lon, resolution)
        unit = width(middle)
        around = Around(np.array(h3.grid_disk(middle, 14)))
        shape = star(random, lon, lat, 5 * unit)
        hole = star(random, lon, lat, unit)
        line = shapely.LineString(random.uniform(-4, 4, (5, 2)) * unit + [lon, lat])
        kinds = [
            shape,
            shape.difference(hole),
            shapely.union_all(
                [star(random, lon + 3 * unit, lat, unit), star(random, lon - 3 * unit, lat, 2 * unit)]
            ),
            # slivers: a thousandth of a cell wide
            shapely.box(lon - 4 * unit, lat, lon + 4 * unit, lat + 1e-3 * unit),
            line.buffer(1e-3 * unit),
            line,
            shapely.MultiPoint(random.uniform(-4, 4, (5, 2)) * unit + [lon, lat]),
            shapely.Point(lon, lat),
            # smaller than a cell
            star(random, lon, lat, 0.1 * unit),
        ]
        for kind in kinds:
            assert_covered(kind, around, resolution, random)


@pytest.mark.parametrize("resolution", [0, 1, 2])
def test_covers_over_the_whole_globe(resolution: int) -> None:
    """At the antimeridian, around both poles, around pentagons, and far larger than a cell."""
    random = np.random.default_rng(resolution)
    around = Around(globe(resolution))
    pentagons = [h3.cell_to_latlng(pentagon) for pentagon in h3.get_pentagons(resolution)]
    shapes = [
        shapely.box(-180, -90, 180, 90),
        shapely.box(-180, 70, 180, 90),
        shapely.box(-180, -90, 180, -89.9),
        shapely.box(-180, -90, 180, 90).difference(shapely.box(-170, -80, 170, 80)),
        shapely.MultiPolygon([shapely.box(175, -20, 180, 12), shapely.box(-180, -20, -171, 12)]),
        shapely.box(179.9, 60, 180, 61),
        shapely.box(-180, 60, -179.9, 61),
        shapely.LineString([(-180, -90), (180, 90)]),
        shapely.Point(180, 0),
        shapely.Point(-180, 0),
        shapely.box(10, 45, 11, 46),
        star(random, -60.0, 10.0, 40.0),
        *(shapely.box(lon - 2, lat - 2, lon + 2, lat + 2) for lat, lon in pentagons),
    ]
    for shape in shapes:
        if shape.bounds[0] >= -180 and shape.bounds[2] <= 180:
            assert_covered(shape, around, resolution, random)


@pytest.mark.parametrize("resolution", [4, 7, 10, 13, 15])
def test_covers_at_the_edges_of_the_map(resolution: int) -> None:
    random = np.random.default_rng(resolution)
    for lat, lon in [(89.9999, 20.0), (-89.9999, -100.0), (84.0, 180.0), (-45.0, 180.0), (0.0, -180.0)]:
        middle = h3.latlng_to_cell(lat, lon, resolution)
        around = Around(np.array(h3.grid_disk(middle, 14)))
        for size in (0.2, 2.9):
            cap = shapely.union_all(kernel._outlines(np.array([middle]), factor=size))
            if shapely.is_valid(cap):
                assert_covered(cap, around, resolution, random)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_a_cell_is_covered_by_itself_alone(resolution: int) -> None:
    """Borders are shared, areas are not; at pentagons, poles and the antimeridian too."""
    cells = some_cells(resolution, count=20)
    outlines = kernel.boundaries(cells)
    for mode in ("center", "contains", "exact"):
        assert [found.tolist() for found in kernel.covers(outlines, resolution, mode)] == [
            [cell] for cell in cells
        ]
    for cell, found in zip(cells.tolist(), kernel.covers(outlines, resolution, "overlaps"), strict=True):
        assert set(found.tolist()) == set(h3.grid_disk(cell, 1))


@pytest.mark.parametrize("resolution", [1, 5, 9, 15])
def test_a_union_of_cells_is_covered_by_them(resolution: int) -> None:
    for place in PLACES[3:]:
        disk = h3.grid_disk(h3.latlng_to_cell(*place, resolution), 1 if resolution == 1 else 3)
        # A grid of a nanometre joins what rounding keeps apart.
        shape = shapely.union_all(kernel.boundaries(disk), grid_size=1e-14)
        for mode in ("contains", "exact", "center"):
            assert set(kernel.covers([shape], resolution, mode)[0].tolist()) == set(disk)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_a_point_on_a_corner_meets_three_cells(resolution: int) -> None:
    for cell in some_cells(resolution, count=10)[::7].tolist():
        # In odd resolutions some corners only bend an edge, between two cells.
        for corner, found in zip(
            corners(cell).tolist(),
            kernel.covers(shapely.points(corners(cell)), resolution, "exact"),
            strict=True,
        ):
            if abs(corner[1]) < 90 - 1e-9:
                assert cell in found and 2 <= len(found) <= 3


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_points_next_to_outlines_are_looked_up_by_their_own_cell(resolution: int) -> None:
    """Half-way along the straight lines of an outline: where it is farthest from the border that H3 means."""
    random = np.random.default_rng(resolution)
    places = []
    for outline in kernel.boundaries(some_cells(resolution, count=20)[::3]):
        for part in shapely.get_parts(outline):
            ring = shapely.get_coordinates(part.exterior)
            step = np.diff(ring, axis=0)
            offset = random.uniform(-3e-5, 3e-5, (len(step), 1)) * step[:, ::-1] * [1, -1]
            places.append(ring[:-1] + step / 2 + offset)
    lon, lat = np.clip(np.concatenate(places).T, [[-180], [-90]], [[180], [90]])
    found = kernel.covers(shapely.points(lon, lat), resolution, "overlaps")
    for cells, *place in zip(found, lat.tolist(), lon.tolist(), strict=True):
        assert h3.latlng_to_cell(*place, resolution) in cells


@pytest.mark.parametrize("resolution", [0, 2, 5, 8, 11, 15])
def test_where_the_search_begins_changes_nothing(resolution: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(resolution)
    lat = np.degrees(np.arcsin(random.uniform(-1, 1, 60)))
    shapes = []
    for middle_lat, middle_lon in zip(lat, random.uniform(-180, 180, 60), strict=True):
        size = width(h3.latlng_to_cell(middle_lat, middle_lon, resolution)) * 10 ** random.uniform(-2, 1)
        shapes.append(shapely.Point(middle_lon, middle_lat).buffer(size))
    for cell in some_cells(resolution, count=0)[::9].tolist():
        lat_lon = h3.cell_to_latlng(cell)
        shapes.append(shapely.Point(lat_lon[::-1]).buffer(width(cell) * 10 ** random.uniform(-2, 1)))
    quick = kernel.covers(shapes, resolution, "overlaps")
    monkeypatch.setattr(kernel, "_NEXT", 0.0)
    for found, expected in zip(quick, kernel.covers(shapes, resolution, "overlaps"), strict=True):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("resolution", range(13))
def test_no_descendant_reaches_beyond(resolution: int) -> None:
    cells = some_cells(resolution, count=10)[::6]
    for cell in cells.tolist():
        centre = kernel._vectors(np.array(h3.cell_to_latlng(cell))[::-1])
        for levels in (0, 1, 3):
            descendants = h3.cell_to_children(cell, resolution + levels)
            ring = kernel._vectors(np.concatenate([corners(child) for child in descendants]))
            assert np.linalg.norm(ring - centre, axis=1).max() < 0.98 * kernel._REACH / 7 ** (resolution / 2)


def test_shapes_that_are_hardly_any() -> None:
    bow_tie = shapely.from_wkt("POLYGON((0 0,2 2,2 0,0 2,0 0))")
    shapes = [
        None,
        shapely.from_wkt("POLYGON EMPTY"),
        shapely.box(500_000, 5_000_000, 500_100, 5_000_100),
        shapely.box(190, 10, 191, 11),
        shapely.Point(math.inf, 1),
        shapely.Point(math.nan, math.nan),
        bow_tie,
        shapely.GeometryCollection([shapely.box(0, 0, 1, 1), shapely.Point(20, 20)]),
    ]
    for mode in kernel.MODES:
        found = kernel.covers(shapes, 4, mode)
        assert found[0] is None
        assert [len(cells) for cells in found[1:6]] == [0] * 5
        assert len(found[6]) or mode == "contains"
    assert h3.latlng_to_cell(20, 20, 4) in kernel.covers(shapes[-1:], 4, "exact")[0]
    assert kernel.covers([], 4, "exact") == []


def test_a_cover_without_end_is_refused() -> None:
    with pytest.raises(
        ValueError, match="h3_cover: more than 10,000,000 cells of resolution 12 for one value"
    ):
        kernel.covers([shapely.box(-10, 40, 10, 50)], 12, "exact")


# Compact sets


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_compact_as_h3_does(resolution: int) -> None:
    random = np.random.default_rng(resolution)
    for middle in some_cells(resolution, count=10)[::8].tolist():
        cells = set(h3.grid_disk(middle, 12 if resolution > 1 else 3)) - {middle}
        if resolution:
            cells |= set(h3.cell_to_children(h3.cell_to_parent(middle, resolution - 1), resolution))
        given = random.permutation(np.array(sorted(cells)))
        packed = kernel.compact(np.concatenate([given, given[:3]]))
        assert packed.tolist() == sorted(h3.compact_cells(cells))
        assert kernel.uncompact(packed, resolution).tolist() == sorted(cells)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(1, 4), st.integers(0, 10_000)), max_size=40))
def test_compact_of_cells_that_overlap(chosen: list[tuple[int, int, int]]) -> None:
    """Descendants of pentagons, of all resolutions together: the same area, and no cell too many."""
    pentagons = h3.get_pentagons(0)
    cells = [
        children[number % len(children)]
        for pentagon, resolution, number in chosen
        for children in [h3.cell_to_children(pentagons[pentagon], resolution)]
    ]
    expected = {child for cell in cells for child in h3.cell_to_children(cell, 4)}
    assert kernel.compact(cells).tolist() == sorted(h3.compact_cells(expected))
    assert kernel.uncompact(cells, 4).tolist() == sorted(expected)


def test_uncompact_leaves_finer_cells_out_and_knows_its_end() -> None:
    fine, coarse = h3.latlng_to_cell(1, 2, 9), h3.latlng_to_cell(50, 60, 4)
    assert kernel.uncompact([fine, coarse], 5).tolist() == sorted(h3.cell_to_children(coarse, 5))
    assert kernel.uncompact([], 5).tolist() == kernel.compact([]).tolist() == []
    with pytest.raises(ValueError, match="h3_uncompact: more than 10,000,000 cells of resolution 15"):
        kernel.uncompact([coarse], 15)


# The SQL functions

BAD = [0, -1, 1, 0x85283473FFFFFFF + 1, 0x7FFFFFFFFFFFFFFF, 0x115283473FFFFFFF]


def test_the_functions_and_their_types() -> None:
    types = {name: python_macros.return_type(FILE, function) for name, function in FUNCTIONS.items()}
    assert types == {
        "h3_cell_boundary": "binary",
        "h3_cell_area_m2": "double",
        "h3_cell_distance": "int",
        "h3_cells_over": "array<bigint>",
        "h3_compacted": "array<bigint>",
        "h3_uncompacted": "array<bigint>",
        "normal_p_value": "double",
    }
    assert all(python_macros.is_vectorised(function) for function in FUNCTIONS.values())


def test_what_is_no_cell_has_no_answer() -> None:
    cell = h3.latlng_to_cell(1, 2, 5)
    numbers = pd.Series([*BAD, cell])
    for name in ("h3_cell_boundary", "h3_cell_area_m2"):
        assert FUNCTIONS[name](numbers).notna().tolist() == [False] * len(BAD) + [True]
    steps = FUNCTIONS["h3_cell_distance"](numbers, pd.Series([cell] * len(numbers)))
    assert steps.isna().tolist() == [True] * len(BAD) + [False]
    lists = pd.Series([np.array([*BAD, cell]), None, np.array([], dtype=np.int64)])
    for found in (FUNCTIONS["h3_compacted"](lists), FUNCTIONS["h3_uncompacted"](lists, pd.Series([5] * 3))):
        assert found[0].tolist() == [cell] and found[1] is None and found[2].tolist() == []


def test_areas_and_distances_are_those_of_h3() -> None:
    for resolution in RESOLUTIONS:
        cells = some_cells(resolution, count=5)
        areas = FUNCTIONS["h3_cell_area_m2"](pd.Series(cells))
        assert areas.tolist() == [h3.cell_area(cell, unit="m^2") for cell in cells.tolist()]
        for cell in cells[::9].tolist():
            disk = h3.grid_disk(cell, 3)
            steps = FUNCTIONS["h3_cell_distance"](pd.Series([cell] * len(disk)), pd.Series(disk))
            for other, step in zip(disk, steps, strict=True):
                assert step is pd.NA or other in set(h3.grid_disk(cell, step)) - set(
                    h3.grid_disk(cell, step - 1) if step else []
                )
    assert FUNCTIONS["h3_cell_distance"](
        pd.Series([h3.latlng_to_cell(0, 0, 5)] * 2),
        pd.Series([h3.latlng_to_cell(0, 0, 6), h3.latlng_to_cell(0, 179, 5)]),
    ).tolist() == [pd.NA, pd.NA]


def test_covers_of_wkb() -> None:
    box = shapely.box(13, 52, 13.1, 52.1)
    shapes = pd.Series(
        [shapely.to_wkb(box), None, b"no geometry", shapely.to_wkb(shapely.Polygon())], dtype=object
    )
    found = FUNCTIONS["h3_cells_over"](shapes, pd.Series([7] * 4), pd.Series(["exact"] * 4))
    assert found[0].tolist() == kernel.covers([box], 7, "exact")[0].tolist()
    assert found[1] is None and found[2] is None and found[3].tolist() == []


def test_p_values() -> None:
    found = FUNCTIONS["normal_p_value"](pd.Series([0.0, 1.959963984540054, -1.959963984540054, 40.0, None]))
    assert found[:4].tolist() == pytest.approx([1, 0.05, 0.05, 0]) and math.isnan(found[4])


def test_empty_batches_and_workers() -> None:
    """Spark pickles the functions; the file itself is not on a worker's path."""
    for name, function in FUNCTIONS.items():
        there = cloudpickle.loads(cloudpickle.dumps(function))
        count = {"h3_cell_distance": 2, "h3_uncompacted": 2, "h3_cells_over": 3}.get(name, 1)
        assert len(there(*[pd.Series([], dtype=object)] * count)) == 0
