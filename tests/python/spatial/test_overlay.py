"""`overlay` and `dissolve` in models, by every plan, against shapely."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from workbench import Workbench

from geostrata.spatial.areas import area_m2

PLANS = ("broadcast right", "broadcast left", "tiles")


def stars(seed: int, count: int, corners: tuple[int, int], size: float) -> Any:
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        number = int(chance.integers(*corners))
        turn = (np.arange(number) + chance.uniform(0, 0.9, number)) * 2 * np.pi / number
        radius = chance.uniform(0.3, 1, (number, 1)) * chance.uniform(size / 10, size)
        found.append(
            shapely.Polygon(
                chance.uniform((10, 48), (11, 49)) + radius * np.column_stack([np.cos(turn), np.sin(turn)])
            )
        )
    return np.array([*found, None, shapely.Polygon(), shapely.Point(10.5, 48.5)], dtype=object)


def table_of(name: str, shapes: Any, **more: Any) -> pa.Table:
    return pa.table(
        {
            f"{name}_id": pa.array([f"{name} {number}" for number in range(len(shapes))]),
            **more,
            "geometry": pa.array(list(shapely.to_wkb(shapes)), pa.binary()),
            "_source_file": pa.array(["somewhere"] * len(shapes)),
        }
    )


@pytest.fixture(scope="module")
def sides() -> tuple[Any, Any]:
    return stars(1, 150, (4, 40), 0.05), stars(2, 12, (200, 900), 0.4)


@pytest.fixture(scope="module")
def overlaid(bench: Workbench, sides: tuple[Any, Any]) -> dict[str, pa.Table]:
    left = bench.table("plots", table_of("plot", sides[0], grade=np.arange(len(sides[0])) % 7))
    right = bench.table("zones", table_of("zone", sides[1]))
    models = {
        f"overlaid_{plan.replace(' ', '_')}": f"select * from {{{{ overlay('{left}', '{right}', plan='{plan}') }}}}"
        for plan in PLANS
    }
    models["overlaid_largely"] = (
        f"select * from {{{{ overlay('(select * from {left} where grade = 1)', '{right}', left_columns={{'plot_id': 'plot'}}, "
        f"right_columns=['zone_id'], min_area_m2=1000000) }}}}"
    )
    models["dissolved"] = f"select * from {{{{ dissolve('{left}', by='grade') }}}}"
    models["dissolved_twice"] = (
        f"select * from {{{{ dissolve('(select *, grade % 2 as odd from {left})', by=['grade', 'odd']) }}}} where odd = 1"
    )
    return bench.run(models)


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_gives_all_pairs(overlaid: dict[str, pa.Table], sides: tuple[Any, Any], plan: str) -> None:
    found = overlaid[f"overlaid_{plan.replace(' ', '_')}"]
    assert found.column_names == [
        "plot_id", "grade", "zone_id", "geometry", "area_m2", "left_share", "right_share",
    ]  # fmt: skip
    rows = {(row["plot_id"], row["zone_id"]): row for row in found.to_pylist()}
    assert len(rows) == found.num_rows
    wanted = {
        (f"plot {i}", f"zone {j}"): (i, j, shapely.intersection(ours, theirs))
        for i, ours in enumerate(sides[0])
        for j, theirs in enumerate(sides[1])
        if ours is not None and theirs is not None and shapely.intersection(ours, theirs).area > 0
    }
    assert rows.keys() == wanted.keys()
    assert len(rows) > 100
    for pair, (i, j, part) in wanted.items():
        row = rows[pair]
        assert shapely.symmetric_difference(shapely.from_wkb(row["geometry"]), part).area < 1e-13
        areas = area_m2([part, sides[0][i], sides[1][j]])
        assert row["area_m2"] == pytest.approx(areas[0], rel=1e-9)
        assert row["left_share"] == pytest.approx(areas[0] / areas[1], rel=1e-9)
        assert row["right_share"] == pytest.approx(areas[0] / areas[2], rel=1e-9)
        assert row["grade"] == i % 7


def test_columns_statements_and_small_parts(overlaid: dict[str, pa.Table]) -> None:
    found = overlaid["overlaid_largely"]
    assert found.column_names == ["plot", "zone_id", "geometry", "area_m2", "left_share", "right_share"]
    whole = overlaid["overlaid_tiles"].to_pylist()
    wanted = {
        (row["plot_id"], row["zone_id"]) for row in whole if row["grade"] == 1 and row["area_m2"] > 1_000_000
    }
    assert {(row["plot"], row["zone_id"]) for row in found.to_pylist()} == wanted
    assert 0 < len(wanted) < sum(row["grade"] == 1 for row in whole)


def test_a_dissolved_shape_is_the_union_of_its_group(
    overlaid: dict[str, pa.Table], sides: tuple[Any, Any]
) -> None:
    for name, grades in (("dissolved", range(7)), ("dissolved_twice", (1, 3, 5))):
        rows = {row["grade"]: row for row in overlaid[name].to_pylist()}
        assert rows.keys() == set(grades)
        for grade, row in rows.items():
            group = sides[0][np.arange(len(sides[0])) % 7 == grade]
            wanted = shapely.union_all(group)
            assert shapely.symmetric_difference(shapely.from_wkb(row["geometry"]), wanted).area < 1e-13
            assert row["shape_count"] == len(group)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("overlay({0}, {0})", "overlay: plot_id would come twice"),
        ("overlay({0}, {0}, min_area_m2=-1)", "overlay: min_area_m2 must be 0 or more, got -1"),
        ("overlay({0}, {0}, left_columns=['id'])", "overlay: the left side has no column id; it has"),
        ("overlay({0}, {0}, right_geometry='shape')", "overlay: the right side has no column shape"),
        ("overlay({0}, {0}, plan='guess')", "overlay: plan must be one of broadcast right"),
        ("dissolve({0}, by=[])", "dissolve: by must name one column at least, got []"),
        ("dissolve({0}, by='colour')", "dissolve: there is no column colour to dissolve by"),
        ("dissolve({0}, by='plot_id', geometry='shape')", "dissolve: there is no column shape"),
    ],
)
def test_what_a_person_did_wrong(bench: Workbench, call: str, message: str) -> None:
    plots = bench.table("few_plots", table_of("plot", stars(1, 3, (4, 9), 0.1)))
    text = call.format(f"'{plots}'")
    assert message in bench.error(f"select * from {{{{ {text} }}}}")
