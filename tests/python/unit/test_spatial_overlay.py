"""Areas, overlay, dissolve and the kernels of the tests of coverages, against shapely and pyproj. No Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyproj
import pytest
import shapely
from dbt.adapters.sedona import python_macros
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from geostrata.spatial import coverage, dissolve, measures
from geostrata.spatial.areas import area_m2, length_m
from geostrata.spatial.dealing import leaf_boxes
from geostrata.spatial.overlay import Overlay, polygonal
from geostrata.spatial.tiles import Tiles

GEOD = pyproj.Geod(ellps="WGS84")


def shapes(*texts: str | None) -> Any:
    return np.array([None if text is None else shapely.from_wkt(text) for text in texts], dtype=object)


def geodesic_area(shape: Any, longest: float) -> float:
    return abs(GEOD.geometry_area_perimeter(shapely.segmentize(shapely.orient_polygons(shape), longest))[0])


def stars(seed: int, count: int, corners: tuple[int, int] = (3, 40), size: float = 0.1) -> Any:
    """Ragged shapes around places in a degree square, a third of them with a hole."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        number = int(chance.integers(*corners))
        turn = (np.arange(number) + chance.uniform(0, 0.9, number)) * 2 * np.pi / number
        radius = chance.uniform(0.3, 1, (number, 1)) * chance.uniform(size / 10, size)
        ring = chance.uniform((10, 48), (11, 49)) + radius * np.column_stack([np.cos(turn), np.sin(turn)])
        star = shapely.Polygon(ring)
        if chance.random() < 0.3:
            star = star.difference(star.representative_point().buffer(radius.min() / 4, quad_segs=2))
        found.append(star)
    return np.array(found, dtype=object)


def cells(across: int, seed: int = 1, jitter: float = 0.3) -> Any:
    """A coverage: neighbours share their corners."""
    chance = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(10, 11, across + 1), np.linspace(48, 49, across + 1))
    inner = np.zeros_like(x)
    inner[1:-1, 1:-1] = jitter / across
    at = np.stack(
        [x + inner * chance.uniform(-1, 1, x.shape), y + inner * chance.uniform(-1, 1, x.shape)], axis=-1
    )
    corners = [at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1], at[:-1, :-1]]
    return shapely.polygons(np.stack(corners, axis=2).reshape(-1, 5, 2))


# Areas and lengths


@pytest.mark.parametrize(
    ("text", "longest"),
    [
        ("POLYGON((10 48,10.01 48,10.013 48.02,10 48.01,10 48),(10.002 48.002,10.002 48.003,10.003 48.003,10.002 48.002))", 1e-6),
        ("MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((-1 -1,-2 -1,-2 -3,-1 -1)))", 1e-4),
        ("POLYGON((179 -1,180 -1,180 1,179 1,179 -1))", 1e-4),
        ("POLYGON((0 -80,10 0,20 85,-30 40,0 -80))", 5e-4),
        ("POLYGON((0 60,90 60,90 90,0 90,0 60))", 5e-4),
    ],
)  # fmt: skip
def test_an_area_is_that_between_geodesics_of_short_edges(text: str, longest: float) -> None:
    shape = shapely.from_wkt(text)
    assert area_m2([shape])[0] == pytest.approx(geodesic_area(shape, longest), rel=1e-9)


@pytest.mark.parametrize("size", [1e-8, 1e-5, 0.01, 1, 40])
@pytest.mark.parametrize("south", [-90, -1e-9, 0, 48, 50])
def test_small_and_large_boxes_keep_their_digits(south: float, size: float) -> None:
    """Against the closed form, in more digits."""
    low, high = np.radians(np.array([south, south + size], dtype=np.longdouble))
    wide = np.radians(np.longdouble(7 + size) - 7)
    e = np.sqrt(np.longdouble(GEOD.es))

    def zone(at: Any) -> Any:
        return np.sin(at) / (1 - (e * np.sin(at)) ** 2) + np.arctanh(e * np.sin(at)) / e

    wanted = np.longdouble(GEOD.b) ** 2 / 2 * wide * (zone(high) - zone(low))
    assert area_m2([shapely.box(7, south, 7 + size, south + size)])[0] == pytest.approx(
        float(wanted), rel=1e-9
    )


def test_areas_of_everything_add_up_to_the_spheroid() -> None:
    west, south = np.meshgrid(np.arange(-180, 180, 7.5), np.arange(-90, 90, 7.5))
    boxes = shapely.box(west.ravel(), south.ravel(), west.ravel() + 7.5, south.ravel() + 7.5)
    # Textbook: 2 pi a^2 (1 + (1 - e^2) / e atanh e).
    e = np.sqrt(GEOD.es)
    whole = 2 * np.pi * GEOD.a**2 * (1 + (1 - e * e) / e * np.arctanh(e))
    assert area_m2(boxes).sum() == pytest.approx(whole, rel=1e-12)
    assert area_m2([shapely.box(-180, -90, 180, 90)])[0] == pytest.approx(whole, rel=1e-12)


def test_long_edges_differ_from_geodesics_as_documented() -> None:
    step = np.degrees(1000 / GEOD.a) / np.cos(np.radians(48))
    # The other edges are geodesics.
    shape = shapely.box(10, 0, 10 + step, 48)
    bulge = geodesic_area(shape, 1) - area_m2([shape])[0]
    assert bulge == pytest.approx(1000**3 * np.tan(np.radians(48)) / 12 / GEOD.a, rel=0.02)


def test_a_shape_without_area() -> None:
    given = shapes("POINT(1 2)", "LINESTRING(0 0,1 1)", "POLYGON EMPTY", None, "GEOMETRYCOLLECTION EMPTY")
    assert np.array_equal(area_m2(given), [0, 0, 0, np.nan, 0], equal_nan=True)
    assert len(area_m2([])) == len(length_m([])) == 0
    nested = shapes("GEOMETRYCOLLECTION(POINT(9 9),GEOMETRYCOLLECTION(MULTIPOLYGON(((0 0,1 0,1 1,0 0)))))")
    assert area_m2(nested)[0] == area_m2(shapes("POLYGON((0 0,0 -0,1 0,1 1,0 0))"))[0] > 1e9


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_areas_of_parts_add_up(seed: int) -> None:
    a, b = stars(seed, 2, size=0.8)
    parts = area_m2([a & b, a - b, b - a, a | b])
    assert parts[:2].sum() == pytest.approx(area_m2([a])[0], rel=1e-11)
    assert parts[:3].sum() == pytest.approx(parts[3], rel=1e-11)


@pytest.mark.parametrize(
    "text", ["LINESTRING(10 48,10.5 48.7)", "LINESTRING(0 -80,100 80)", "LINESTRING(0 90,50 -90)"]
)
def test_a_length_is_that_of_short_geodesics(text: str) -> None:
    line = shapely.from_wkt(text)
    there = GEOD.geometry_length(shapely.segmentize(line, 1e-3))
    assert length_m([line])[0] == pytest.approx(there, rel=1e-9)


def test_lengths_count_rings_and_lines_but_no_points() -> None:
    ring = "LINESTRING(0 0,1 0,1 1,0 0)"
    given = shapes(
        ring, "POLYGON((0 0,1 0,1 1,0 0))", f"GEOMETRYCOLLECTION(POINT(5 5),{ring})", "POINT(1 1)", None
    )
    found = length_m(given)
    assert found[0] == found[1] == found[2] > 3e5
    assert found[3] == 0 and np.isnan(found[4])


# Overlay


def brute_force(left: Any, right: Any) -> dict[tuple[int, int], Any]:
    found = {}
    for i, ours in enumerate(left):
        for j, theirs in enumerate(right):
            if ours is not None and theirs is not None:
                part = polygonal([shapely.intersection(ours, theirs)])[0]
                if part is not None:
                    found[i, j] = part
    return found


def check_overlay(left: Any, right: Any) -> dict[tuple[int, int], Any]:
    wanted = brute_force(left, right)
    parts = Overlay(right).parts(left)
    pairs = list(zip(parts.left.tolist(), parts.right.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == set(wanted)
    both = np.array([wanted[pair] for pair in pairs], dtype=object)
    assert np.isin(shapely.get_type_id(parts.shapes), (3, 6)).all()
    assert area_m2(shapely.symmetric_difference(parts.shapes, both)).max(initial=0) < 1e-6
    np.testing.assert_allclose(parts.area_m2, area_m2(both), rtol=1e-9, atol=1e-6)
    ours, theirs = parts.shares()
    np.testing.assert_allclose(ours, parts.area_m2 / area_m2(left[parts.left]), rtol=1e-12)
    np.testing.assert_allclose(theirs, parts.area_m2 / area_m2(right[parts.right]), rtol=1e-12)
    assert (ours <= 1).all() and (theirs <= 1).all()
    return wanted


@pytest.mark.parametrize("seed", range(6))
def test_overlay_of_random_shapes_is_that_of_all_pairs(seed: int) -> None:
    assert len(check_overlay(stars(seed, 60, size=0.05), stars(seed + 100, 12, (200, 900), size=0.4))) > 50


def test_overlay_is_the_same_from_both_sides() -> None:
    small, large = stars(1, 80, size=0.05), stars(2, 10, (200, 900), size=0.4)
    there, back = Overlay(large).parts(small), Overlay(small).parts(large)
    pairs = dict(zip(zip(there.left.tolist(), there.right.tolist(), strict=True), there.area_m2, strict=True))
    for i, j, area in zip(back.left.tolist(), back.right.tolist(), back.area_m2, strict=True):
        assert area == pytest.approx(pairs.pop((j, i)), rel=1e-9)
    assert not pairs


SQUARE = "POLYGON((0 0,4 0,4 4,0 4,0 0))"


@pytest.mark.parametrize(
    ("other", "share"),
    [
        ("POLYGON((4 0,8 0,8 4,4 4,4 0))", None),  # a common edge
        ("POLYGON((4 4,8 4,8 8,4 8,4 4))", None),  # a common corner
        ("POLYGON((9 0,8 0,8 4,9 0))", None),
        (SQUARE, 1.0),
        ("POLYGON((4 4,0 4,0 0,2 0,4 0,4 4))", 1.0),  # the same, written otherwise
        ("POLYGON((0 0,2 0,2 4,0 4,0 0))", 0.5),  # inside, along the border
        ("POLYGON((-9 -9,9 -9,9 9,-9 9,-9 -9))", 1.0),
        ("POLYGON((-9 -9,9 -9,9 9,-9 9,-9 -9),(-1 -1,5 -1,5 5,-1 5,-1 -1))", None),  # in the hole
        ("POLYGON((-9 -9,9 -9,9 9,-9 9,-9 -9),(0 0,4 0,4 4,0 4,0 0))", None),  # fills the hole
        ("POLYGON((-9 -9,9 -9,9 9,-9 9,-9 -9),(2 0,4 0,4 4,2 4,2 0))", 0.5),
        ("MULTIPOLYGON(((-1 -1,2 -1,2 5,-1 5,-1 -1)),((4 0,8 0,8 4,4 4,4 0)))", 0.5),  # one part only touches
        ("POLYGON((4 1,6 1,6 3,0 5,4 3,4 1))", 5 / 6 / 16),
        ("LINESTRING(-1 1,5 1)", None),
        ("POINT(1 1)", None),
        ("GEOMETRYCOLLECTION(POINT(1 1),POLYGON((2 -1,5 -1,5 5,2 5,2 -1)))", 0.5),
        ("POLYGON EMPTY", None),
        (None, None),
    ],
)  # fmt: skip
def test_adversarial_pairs(other: str | None, share: float | None) -> None:
    square, others = shapes(SQUARE), shapes(other)
    wanted = check_overlay(square, others)
    assert check_overlay(others, square).keys() == wanted.keys()
    assert bool(wanted) == (share is not None)
    if share:
        # Near the equator a degree is nearly as high as wide.
        assert Overlay(others).parts(square).shares()[0][0] == pytest.approx(share, rel=2e-3)


def test_parts_of_a_coverage_make_up_the_whole() -> None:
    grid, others = cells(12), stars(4, 9, (30, 200), size=0.3)
    inside = polygonal(shapely.intersection(others, shapely.box(10, 48, 11, 49)))
    parts = Overlay(grid).parts(inside)
    shares = np.bincount(parts.left, parts.shares()[0], minlength=len(inside))
    np.testing.assert_allclose(shares, 1, rtol=1e-9)


def test_min_area_leaves_small_parts_out() -> None:
    left, right = shapes(SQUARE), shapes("POLYGON((3.9 3.9,5 3.9,5 5,3.9 5,3.9 3.9))")
    area = Overlay(right).parts(left).area_m2[0]
    assert len(Overlay(right).parts(left, area * 0.999).left) == 1
    assert len(Overlay(right).parts(left, area).left) == 0


def test_an_invalid_shape_fails_nothing() -> None:
    bow_tie = shapes("POLYGON((0 0,4 4,4 0,0 4,0 0))", "POLYGON((0 0,0 4,1 1,4 1,0 0,2 2,0 0))", SQUARE)
    assert len(Overlay(bow_tie).parts(shapes(SQUARE)).left) >= 2
    assert dissolve.union(bow_tie).area > 0


def test_nothing_at_all() -> None:
    for left, right in (([], []), ([None], [None]), (shapes(SQUARE), []), ([], shapes(SQUARE))):
        parts = Overlay(np.array(right, dtype=object)).parts(np.array(left, dtype=object))
        assert len(parts.left) == len(parts.shapes) == len(parts.shares()[0]) == 0


# Dissolve


@pytest.mark.parametrize("seed", range(4))
def test_a_union_is_that_of_all(seed: int) -> None:
    for some in (stars(seed, 50), cells(10, seed), np.append(stars(seed, 5), shapes("POINT(0 0)", None))):
        wanted = shapely.union_all(some)
        assert shapely.symmetric_difference(dissolve.union(some), wanted).area < 1e-14
        assert shapely.get_num_geometries(dissolve.union(some)) == shapely.get_num_geometries(wanted)
    assert dissolve.union(shapes(None, "POLYGON EMPTY")) is None


def test_groups_stay_whole_however_tables_are_cut() -> None:
    chance = np.random.default_rng(3)
    keys = np.sort(chance.integers(0, 12, 200)).tolist()
    given = cells(15)[:200]
    table = pa.table({
        "key": pa.array([None if key == 0 else key for key in keys]),
        "geometry": list(shapely.to_wkb(given)),
        "shape_count": np.ones(200, np.int64),
    })  # fmt: skip
    for size in (1, 7, 200):
        pieces = (table.slice(start, size) for start in range(0, 200, size))
        tables = [dissolve.united(whole, ["key"]) for whole in dissolve.whole_groups(pieces, ["key"])]
        found = pa.concat_tables(tables).to_pylist()
        assert [row["key"] for row in found] == [None, *range(1, 12)]
        for row in found:
            ours = given[[key == (row["key"] or 0) for key in keys]]
            assert row["shape_count"] == len(ours)
            assert (
                shapely.from_wkb(row["geometry"]).symmetric_difference(shapely.union_all(ours)).area < 1e-14
            )


def test_squares_hold_every_shape_once() -> None:
    given = shapes("POINT(-180 -90)", "POINT(180 90)", "POINT(10.05 48.01)", "POINT(10.2 48.01)", None)
    squares = dissolve.square_of(given)
    assert len(set(squares.tolist())) == 5


# What is wrong with a coverage


@pytest.mark.parametrize("seed", range(4))
def test_the_rest_is_what_the_union_leaves(seed: int) -> None:
    given, cover = stars(seed, 40), stars(seed + 50, 60, size=0.2)
    lines = shapely.boundary(stars(seed + 7, 10))
    points = shapely.points(np.random.default_rng(seed).uniform((10, 48), (11, 49), (30, 2)))
    given = np.concatenate([given, lines, points, shapes(None)])
    rest = coverage.rest_of(given, cover)
    union = shapely.union_all(cover)
    for shape, left in zip(given, rest, strict=True):
        wanted = shapely.difference(shape, union) if shape is not None else None
        if wanted is None or wanted.is_empty:
            # Of areas rounding may leave slivers.
            assert left is None or (shapely.get_dimensions(shape) == 2 and area_m2([left])[0] < 1e-6)
        else:
            assert shapely.symmetric_difference(left, wanted).area < 1e-14
            assert left.area == pytest.approx(wanted.area, abs=1e-14)
            assert shapely.get_dimensions(shape) == 2 or left.length == pytest.approx(wanted.length, abs=1e-9)


def test_a_coverage_leaves_nothing_of_what_it_covers() -> None:
    rest = coverage.rest_of(shapes("POLYGON((10 48,11 48,11 49,10 49,10 48))"), cells(20))
    assert rest[0] is None or area_m2(rest)[0] < 1e-3
    rest = coverage.rest_of(shapes("POLYGON((10 48,11 48,11 49,10 49,10 48))"), np.delete(cells(20), 190))
    assert area_m2(rest)[0] == pytest.approx(area_m2(cells(20)[190:191])[0], rel=1e-6)
    assert coverage.rest_of(shapes(SQUARE), np.empty(0, dtype=object))[0] is not None


def test_boxes_of_tiles_share_out_the_plane() -> None:
    centres = np.random.default_rng(1).uniform((10, 48), (11, 49), (300, 2))
    for count in (1, 2, 7, 16):
        made = Tiles.of(centres, count)
        boxes = leaf_boxes(made)
        assert sum(box.area for box in boxes.values()) == pytest.approx(1440 * 360)
        for place, tile in zip(centres, made.of_points(centres), strict=True):
            assert boxes[tile].intersects(shapely.Point(place))


def test_what_only_touches_a_tile_is_not_in_it() -> None:
    given = shapes(SQUARE, SQUARE, "LINESTRING(0 0,4 0)", "POINT(4 1)", "POLYGON((3 3,5 3,5 5,3 3))", None)
    found = coverage._within(given, shapely.box(4, -9, 9, 9))
    assert [shape is None for shape in found] == [True, True, True, False, False, True]
    assert found[4].area == 1.5


def test_same_shapes_are_found_however_they_are_written() -> None:
    given = shapes(
        SQUARE,
        "POLYGON((4 4,4 0,0 0,0 4,4 4))",  # another start, the other way round
        "POLYGON((0 0,2 0,4 0,4 4,0 4,0 0))",  # a corner on an edge
        "MULTIPOLYGON(((0 0,4 0,4 4,0 4,0 0)))",
        "POLYGON((0 0,4 0,4 4,0 4,1 2,0 0))",  # another shape in the same box
        "LINESTRING(0 0,4 4)",
        "LINESTRING(4 4,0 0)",
        "POINT(1 1)",
        "MULTIPOINT((1 1))",
        "POINT(-0.0 1)",
        "POINT(0 1)",
        "LINESTRING(0 4,4 0)",
    )
    first, second = coverage.same_shapes(given)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    assert pairs == [(0, 1), (0, 2), (0, 3), (5, 6), (7, 8), (9, 10)]


@pytest.mark.parametrize("seed", range(3))
def test_same_shapes_against_all_pairs(seed: int) -> None:
    chance = np.random.default_rng(seed)
    base = stars(seed, 20)
    given = base[chance.integers(0, 20, 60)]
    given = np.where(chance.random(60) < 0.5, shapely.reverse(given), shapely.segmentize(given, 0.02))
    first, second = coverage.same_shapes(given)
    wanted = {
        j: min(i for i in range(60) if shapely.equals(given[i], given[j]))
        for j in range(60)
        if any(shapely.equals(given[i], given[j]) for i in range(j))
    }
    assert dict(zip(second.tolist(), first.tolist(), strict=True)) == wanted


def test_reasons_name_what_is_wrong_and_where() -> None:
    given = [
        shapely.to_wkb(shape) for shape in shapes("POLYGON((0 0,2 2,2 0,0 2,0 0))", SQUARE, "POINT(1 1)")
    ]
    assert measures.invalid_reasons([*given, None, b"\x01oops"]).tolist() == [
        "Self-intersection[1 1]", None, None, None, "not readable as WKB",
    ]  # fmt: skip
    assert len(measures.invalid_reasons([])) == 0


def test_width_and_compactness_are_of_the_thinnest_polygon() -> None:
    metre = np.degrees(1 / GEOD.a)
    strip = shapely.box(0, 0, 1000 * metre, 2 * metre)
    square = shapely.box(0, 0, 100 * metre, 100 * metre)
    given = [
        strip,
        square,
        shapely.MultiPolygon([square, shapely.box(1, 0, 1 + 9 * metre, metre / 2)]),
        None,
        shapely.Point(1, 1),
    ]
    found = measures.thinnest_parts(np.array(given, dtype=object))
    np.testing.assert_allclose(found["width_m"][:3], [2, 50, 0.47], rtol=0.02)
    np.testing.assert_allclose(found["compactness"][:2], [4 * np.pi * 2000 / 2004**2, np.pi / 4], rtol=0.01)
    assert np.isnan(found["width_m"][3:]).all()


# The SQL functions


def test_sql_functions_take_batches_of_wkb() -> None:
    file = Path(__file__).parents[3] / "macros" / "python" / "overlay.py"
    loaded = {
        function.__name__: function for function in python_macros.public_functions(python_macros.load(file))
    }
    batch = pd.Series([shapely.to_wkb(shapely.from_wkt(SQUARE)), None, b"oops"], dtype=object)
    functions = {
        name: cloudpickle.loads(cloudpickle.dumps(loaded[name]))
        for name in ("area_m2", "invalid_reason", "thinnest_part", "has_place")
    }
    for function in functions.values():
        assert python_macros.is_vectorised(function)
        assert len(function(batch[:0])) == 0
    areas = functions["area_m2"](batch)
    assert areas[0] == pytest.approx(area_m2(shapes(SQUARE))[0]) and areas[1:].isna().all()
    assert functions["invalid_reason"](batch).tolist() == [None, None, "not readable as WKB"]
    assert functions["thinnest_part"](batch)["width_m"].isna().tolist() == [False, True, True]
    empty = pd.Series([*batch, shapely.to_wkb(shapely.Point())], dtype=object)
    assert functions["has_place"](empty).tolist() == [True, False, False, False]
