"""Joins where they have gone wrong: many shapes, sides that Spark deals out anew, the antimeridian and the poles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from shapely import LineString, MultiPolygon, Point, box
from workbench import Workbench

from geostrata.spatial import tiles
from geostrata.spatial.geodesic import distance_m

METRES = (0.0, 1_000.0)
PLANS = ("broadcast right", "tiles", "driver")
COLUMNS = {"inner": "right_columns=['right_id']", "left": "right_columns=['right_id']", "anti": "how='anti'"}
# Points in a plane of squares: how many lie where is known by arithmetic.
ACROSS = 1_460


def edge_shapes() -> list[Any]:
    """Some of which are no metre apart without meeting on the map."""
    made: list[Any] = []
    for lat in (-89.9, -17.0, 0.0, 60.0):
        made += [Point(180, lat), Point(-180, lat), Point(179.9999999, lat), Point(-179.99, lat)]
        made += [box(179, lat - 0.1, 180, lat), box(-180, lat, -179.5, lat + 0.05), Point(0, lat)]
        made += [LineString([(-180, lat - 0.05), (-179, lat + 0.05)])]
    made.append(MultiPolygon([box(179.5, -17.5, 180, -16), box(-180, -17.5, -179.9, -16)]))
    for pole in (-90.0, 90.0):
        inward = 89.0 * np.sign(pole)
        made += [Point(0, pole), Point(77, pole), Point(-180, pole), Point(12, np.nextafter(pole, 0))]
        low, high = sorted((inward, pole))
        made += [box(lon, low, lon + 5, high) for lon in (-180, 20, 170)]
        made += [LineString([(60, inward), (60, pole)]), LineString([(-120, inward), (-119, pole)])]
    return [*made, None, Point()]


def lattice() -> tuple[Any, Any]:
    column, row = (axis.ravel() for axis in np.meshgrid(np.arange(ACROSS), np.arange(ACROSS)))
    return column * 0.2 - 146, row * 0.1 - 73


def rows(shapes: Any, key: str) -> pa.Table:
    wkb = pa.array(shapely.to_wkb(np.asarray(shapes, dtype=object)).tolist(), pa.binary())
    return pa.table({key: np.arange(len(shapes)), "geometry": wkb})


def model(left: str, right: str, how: str = "inner", **more: Any) -> str:
    given = "".join(f", {key}={value!r}" for key, value in more.items())
    how_told = "" if how == "anti" else f", how='{how}'"
    return f"select * from {{{{ spatial_join({left!r}, {right!r}, left_columns=['left_id'], {COLUMNS[how]}{how_told}{given}) }}}}"


def pairs(table: pa.Table) -> list[tuple[int, int]]:
    found = zip(table["left_id"].to_pylist(), table["right_id"].to_pylist(), strict=True)
    return sorted(found, key=lambda pair: (pair[0], -1 if pair[1] is None else pair[1]))


def with_lonely(met: list[tuple[int, int]], keys: Any) -> list[tuple[int, int | None]]:
    lonely = sorted(set(keys) - {left for left, _ in met})
    return sorted([*met, *((left, None) for left in lonely)], key=lambda pair: (pair[0], pair[1] or 0))


@pytest.fixture(scope="module")
def many() -> tuple[Any, Any]:
    """Points, and the discs that some of them lie in."""
    chance = np.random.default_rng(41)
    points = shapely.points(chance.uniform(-1, 1, (12_000, 2)))
    return points, shapely.buffer(shapely.points(chance.uniform(-1, 1, (60, 2))), 0.1)


@pytest.fixture(scope="module")
def asked() -> tuple[Any, Any]:
    """Numbers of squares on the lattice, the last of them too; and how far a point lies from the square's western edge."""
    chance = np.random.default_rng(10)
    count = ACROSS * ACROSS
    numbers = np.append(chance.integers(0, count, 3_000), np.arange(count - 500, count))
    return numbers, chance.choice([0.03, 0.15, 0.0], len(numbers))


@pytest.fixture(scope="module")
def joined(bench: Workbench, many: tuple[Any, Any], asked: tuple[Any, Any]) -> dict[str, pa.Table]:
    """In two runs: tiles of a size for many rows, and for few."""
    points, discs = (
        bench.table("many_points", rows(many[0], "left_id")),
        bench.table("many_discs", rows(many[1], "right_id")),
    )
    models, near_models = {}, {}
    again = f"(select /*+ repartition(7) */ * from {points})"
    by_chance = f"(select * from (select *, rand() as chance from {points}) where chance < 0.5)"
    for how in ("left", "anti"):
        models[f"repartitioned_{how}"] = model(again, discs, how, plan="tiles")
        models[f"by_chance_{how}"] = model(by_chance, discs, how, plan="tiles")
    ours, theirs = (bench.table(f"edge_{key}", rows(edge_shapes(), key)) for key in ("left_id", "right_id"))
    for number, metres in enumerate(METRES):
        near = {"predicate": "dwithin", "distance_m": metres}
        for plan in PLANS:
            near_models[f"near_{number}_{plan.split()[0]}"] = model(ours, theirs, plan=plan, **near)
        for how in ("left", "anti"):
            near_models[f"near_{number}_{how}"] = model(ours, theirs, how, plan="tiles", **near)
    x, y = lattice()
    numbers, offset = asked
    squares = bench.table("squares", rows(shapely.box(x, y, x + 0.1, y + 0.05), "right_id"))
    on_lattice = bench.table(
        "on_lattice", rows(shapely.points(x[numbers] + offset, y[numbers] + 0.02), "left_id")
    )
    models["in_squares"] = model(on_lattice, squares, plan="broadcast right")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", 20_000)
        found = bench.run(models)
        patch.setattr(tiles, "TILE_BYTES", 500)
        return found | bench.run(near_models)


@pytest.mark.parametrize("how", ["left", "anti"])
def test_a_side_that_is_dealt_out_anew_keeps_its_rows(
    joined: dict[str, pa.Table], many: tuple[Any, Any], how: str
) -> None:
    found = shapely.STRtree(many[1]).query(many[0], predicate="intersects").T
    met = sorted((int(left), int(right)) for left, right in found)
    both = with_lonely(met, range(len(many[0])))
    assert len(met) > 3_000 and sum(right is None for _, right in both) > 3_000
    table = joined[f"repartitioned_{how}"]
    if how == "left":
        assert pairs(table) == both
    else:
        assert sorted(table["left_id"].to_pylist()) == [left for left, right in both if right is None]


@pytest.mark.parametrize("how", ["left", "anti"])
def test_a_side_that_is_another_whenever_it_is_read_is_read_once(
    joined: dict[str, pa.Table], many: tuple[Any, Any], how: str
) -> None:
    found = shapely.STRtree(many[1]).query(many[0], predicate="intersects").T
    table = joined[f"by_chance_{how}"]
    present = set(table["left_id"].to_pylist())
    met = sorted((int(left), int(right)) for left, right in found if int(left) in present)
    if how == "left":
        assert 4_000 < len(present) < 8_000
        assert pairs(table) == with_lonely(met, present)
    else:
        assert present and not met


@pytest.mark.parametrize("number", range(len(METRES)))
def test_what_is_near_over_the_antimeridian_and_at_the_poles_is_found_by_every_plan(
    joined: dict[str, pa.Table], number: int
) -> None:
    shapes = np.array(edge_shapes(), dtype=object)
    left, right = (side.ravel() for side in np.meshgrid(*2 * [np.arange(len(shapes))], indexing="ij"))
    is_near = distance_m(shapes[left], shapes[right]) <= METRES[number]
    met = [(int(a), int(b)) for a, b in zip(left[is_near], right[is_near], strict=True)]
    is_turned = ~shapely.intersects(shapes[left[is_near]], shapes[right[is_near]])
    assert is_turned.sum() > 50
    for plan in PLANS:
        assert pairs(joined[f"near_{number}_{plan.split()[0]}"]) == met, plan
    both = with_lonely(met, range(len(shapes)))
    assert pairs(joined[f"near_{number}_left"]) == both
    anti = joined[f"near_{number}_anti"]["left_id"].to_pylist()
    assert sorted(anti) == [one for one, other in both if other is None]


def test_more_than_two_million_shapes_meet_points_by_arithmetic(
    joined: dict[str, pa.Table], asked: tuple[Any, Any]
) -> None:
    assert ACROSS * ACROSS > 1 << 21
    numbers, offset = asked
    # Between two columns lies no square.
    expected = sorted((at, int(square)) for at, square in enumerate(numbers) if offset[at] != 0.15)
    assert pairs(joined["in_squares"]) == expected
