"""The join as models call it, by every plan, against every pair tested."""

from __future__ import annotations

import os
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from dbt.adapters.sedona import driver_tables
from deltalake import DeltaTable
from workbench import Workbench

from geostrata.spatial import join, tiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))
from spatial_shapes import awkward_points, awkward_shapes, random_shapes

PLANS = ("broadcast right", "broadcast left", "tiles", "driver")
PREDICATES = ("contains", "within", "intersects")


@pytest.fixture(scope="module")
def left() -> Any:
    chance = np.random.default_rng(31)
    shapes = np.append(awkward_shapes(), random_shapes(chance, 60))
    return np.append(shapes, shapely.points(awkward_points(shapes, chance, 60)))


@pytest.fixture(scope="module")
def right() -> Any:
    return np.append(random_shapes(np.random.default_rng(32), 60), awkward_shapes())


@pytest.fixture(scope="module")
def sides(bench: Workbench, left: Any, right: Any) -> tuple[str, str]:
    return bench.table("lefts", rows(left, "left_id")), bench.table("rights", rows(right, "right_id"))


@pytest.fixture(scope="module")
def joined(bench: Workbench, sides: tuple[str, str]) -> dict[str, pa.Table]:
    """Every predicate by every plan, in one run."""
    models = {}
    for predicate in PREDICATES:
        for plan in PLANS:
            models[name(predicate, plan)] = model(sides, predicate=predicate, plan=plan)
            if plan != "broadcast left":
                for how in ("left", "anti"):
                    models[name(predicate, plan, how)] = model(sides, predicate=predicate, plan=plan, how=how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", 2_000)
        return bench.run(models)


def name(predicate: str, plan: str, how: str = "inner") -> str:
    return f"{predicate}_{plan.replace(' ', '_')}_{how}"


def model(sides: tuple[str, str], **how: Any) -> str:
    columns = "left_columns=['left_id'], right_columns={'right_id': 'met_id'}"
    how.setdefault("how", "inner")
    columns = columns if how["how"] != "anti" else "left_columns=['left_id']"
    given = ", ".join(f"{key}={value!r}" for key, value in how.items())
    return f"select * from {{{{ spatial_join({sides[0]!r}, {sides[1]!r}, {columns}, {given}) }}}}"


def rows(shapes: Any, key: str) -> pa.Table:
    wkb = pa.array(shapely.to_wkb(shapes).tolist(), pa.binary())
    return pa.table(
        {key: np.arange(len(shapes)), "geometry": wkb, "note": ["same name on both sides"] * len(shapes)}
    )


def expected(left: Any, right: Any, predicate: str) -> list[tuple[int, int]]:
    found = getattr(shapely, predicate)(left[:, None], right[None, :])
    return [(int(a), int(b)) for a, b in np.argwhere(found)]


def pairs(table: pa.Table) -> list[tuple[int, int]]:
    found = zip(table["left_id"].to_pylist(), table["met_id"].to_pylist(), strict=True)
    return sorted(found, key=lambda pair: (pair[0], -1 if pair[1] is None else pair[1]))


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("predicate", PREDICATES)
def test_pairs_are_those_of_brute_force(
    joined: dict[str, pa.Table], left: Any, right: Any, predicate: str, plan: str
) -> None:
    assert pairs(joined[name(predicate, plan)]) == expected(left, right, predicate)


@pytest.mark.parametrize("plan", ["broadcast right", "tiles", "driver"])
@pytest.mark.parametrize("predicate", PREDICATES)
def test_left_and_anti_joins_keep_who_meets_nobody(
    joined: dict[str, pa.Table], left: Any, right: Any, predicate: str, plan: str
) -> None:
    met = expected(left, right, predicate)
    lonely = sorted(set(range(len(left))) - {number for number, _ in met})
    assert lonely
    anti = joined[name(predicate, plan, "anti")]
    assert (anti.column_names, sorted(anti["left_id"].to_pylist())) == (["left_id"], lonely)
    both = [*met, *((number, None) for number in lonely)]
    both.sort(key=lambda pair: (pair[0], -1 if pair[1] is None else pair[1]))
    assert pairs(joined[name(predicate, plan, "left")]) == both


def test_by_default_all_of_the_left_and_what_is_said_of_the_right(
    bench: Workbench, sides: tuple[str, str]
) -> None:
    ours, theirs = sides
    named = f"select * from {{{{ spatial_join({ours!r}, {theirs!r}, right_columns=['right_id']) }}}}"
    (table,) = bench.run({"by_default": named}).values()
    assert table.column_names == ["left_id", "geometry", "note", "right_id"]
    message = bench.error(f"select * from {{{{ spatial_join({ours!r}, {theirs!r}) }}}}")
    assert "spatial_join: note would come twice" in message and "right_columns" in message


def test_a_side_may_be_a_statement_and_have_a_condition(
    bench: Workbench, sides: tuple[str, str], left: Any, right: Any
) -> None:
    ours, theirs = sides
    sql = (
        f"select * from {{{{ spatial_join({ours!r}, '(select right_id, geometry from {theirs} where right_id < 40)', "
        "left_columns=['left_id'], right_columns={'right_id': 'met_id'}, left_where='left_id >= 10', right_where='right_id >= 5') }}}}"
    ).replace("}}}}", "}}")
    (table,) = bench.run({"conditions": sql}).values()
    assert pairs(table) == [(a, b) for a, b in expected(left, right, "intersects") if a >= 10 and 5 <= b < 40]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "predicate='touches'",
            "predicate must be one of contains, within, intersects, dwithin, got touches",
        ),
        ("how='outer'", "how must be one of inner, left, anti, got outer"),
        ("predicate='dwithin'", "distance_m belongs to predicate dwithin, and dwithin needs it"),
        ("distance_m=5", "distance_m belongs to predicate dwithin"),
        ("left_geometry='shape'", "the left side has no column shape; name its geometry in left_geometry"),
        (
            "right_columns=['nothing']",
            "the right side has no column nothing; it has geometry, note, right_id",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(
    bench: Workbench, sides: tuple[str, str], given: str, said: str
) -> None:
    message = bench.error(f"select * from {{{{ spatial_join({sides[0]!r}, {sides[1]!r}, {given}) }}}}")
    assert f"spatial_join: {said}" in message


def test_shapes_are_dealt_out_to_many_tiles(
    bench: Workbench, sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "TILE_BYTES", 2_000)
    lines = bench.told(model(sides, plan="tiles", explain=True))
    counts = [int(found) for line in lines for found in re.findall(r"in (\d+) tiles", line)]
    assert len(counts) == 1 and counts[0] > 20


def test_explain_says_which_plan_and_why(bench: Workbench, sides: tuple[str, str]) -> None:
    lines = bench.told(model(sides, explain=True))
    assert any("broadcast right: the right side is small (at most " in line for line in lines)


@pytest.mark.parametrize(
    ("right_where", "why"),
    [
        (None, "tiles: no side is small enough for every worker (left "),
        # All files are left out by their statistics.
        ("right_id > 1000000", "broadcast right: the right side is small (left "),
    ],
)
def test_what_is_large_is_looked_at_after_pruning(
    bench: Workbench,
    sides: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    right_where: str | None,
    why: str,
) -> None:
    monkeypatch.setattr(join, "BROADCAST_BYTES", 10)
    lines = bench.told(model(sides, explain=True, right_where=right_where))
    assert any(why in line for line in lines), lines


@pytest.mark.parametrize(
    ("left_where", "right_where", "plan"),
    [
        ("left_id >= 10", "right_id < 40", "driver: the conditions leave little of either side"),
        ("left_id >= 10", None, "broadcast right: "),
        # Spark alone knows what this means.
        ("left_id >= 10", "note like 'same%'", "broadcast right: "),
    ],
)
def test_what_conditions_leave_is_joined_on_the_driver(
    bench: Workbench, sides: tuple[str, str], left_where: str, right_where: str | None, plan: str
) -> None:
    lines = bench.told(model(sides, explain=True, left_where=left_where, right_where=right_where))
    assert any(plan in line for line in lines), lines


def test_more_than_the_driver_should_hold_is_joined_by_workers(
    bench: Workbench, sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_tables, "MOST_BYTES", 1_000)
    lines = bench.told(model(sides, explain=True, left_where="left_id >= 10", right_where="right_id < 40"))
    assert any("broadcast right: " in line for line in lines), lines


def test_columns_of_every_type_are_the_same_from_the_driver(bench: Workbench, left: Any, right: Any) -> None:
    count = len(left)
    typed = rows(left, "left_id").append_column(
        "bbox", pa.array([{"xmin": float(number), "label": "ä"} for number in range(count)])
    )
    for name, values in {
        "event_ts": pa.array([None, *range(1, count)], pa.timestamp("us", "UTC")),
        "event_date": pa.array(range(count), pa.date32()),
        "share": pa.array([Decimal("1.50")] * count, pa.decimal128(10, 2)),
        "names": pa.array([["a", None]] * count),
        "is_new": pa.array([True] * count),
    }.items():
        typed = typed.append_column(name, values)
    ours, theirs = bench.table("typed_lefts", typed), bench.table("typed_rights", rows(right, "right_id"))
    asked = "select * from {{{{ spatial_join({0!r}, {1!r}, right_columns=['right_id'], left_where='left_id >= 0', right_where='{2}', explain=true) }}}}"
    models = {
        "from_driver": asked.format(ours, theirs, "right_id >= 0"),
        "from_spark": asked.format(ours, theirs, "abs(right_id) >= 0"),
    }
    by_driver, by_spark = (
        table.sort_by([("left_id", "ascending"), ("right_id", "ascending")])
        for table in bench.run(models).values()
    )
    assert by_driver.schema == by_spark.schema
    assert by_driver.to_pylist() == by_spark.to_pylist()
    assert by_driver.num_rows > count
    lines = bench.told(models["from_driver"]) + bench.told(models["from_spark"])
    assert any("driver: " in line for line in lines) and any("broadcast right: " in line for line in lines)


def test_many_rows_from_the_driver_are_written_to_few_files(
    bench: Workbench, sides: tuple[str, str], left: Any, right: Any
) -> None:
    setting = "spark.sql.execution.arrow"
    sql = f"""
    {{%- do run_query('set {setting}.localRelationThreshold = 0') -%}}
    {{%- do run_query('set {setting}.maxRecordsPerBatch = 10') -%}}
    {{%- set joined = spatial_join({sides[0]!r}, {sides[1]!r}, plan='driver', left_columns=['left_id'], right_columns={{'right_id': 'met_id'}}) -%}}
    {{%- do run_query('reset {setting}.localRelationThreshold') -%}}
    {{%- do run_query('reset {setting}.maxRecordsPerBatch') -%}}
    select * from {{{{ joined }}}}
    """
    (table,) = bench.run({"many_rows": sql}).values()
    assert pairs(table) == expected(left, right, "intersects")
    files = DeltaTable(bench.state / "warehouse" / "tried.db" / "many_rows").file_uris()
    assert len(files) <= (os.cpu_count() or 1) < table.num_rows / 10
