"""Rollups over H3 cells and hotspots in Spark, against plain Python over all rows."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import h3.api.basic_int as h3
import numpy as np
import pyarrow as pa
import pytest
from workbench import Workbench

LEVELS = [5, 9, 7]


@pytest.fixture(scope="module")
def events() -> pa.Table:
    random = np.random.default_rng(7)
    rows = []
    for number in range(3000):
        lat, lon = 52.5 + random.normal(0, 0.05), 13.4 + random.normal(0, 0.05)
        rows.append(
            {
                "h3": h3.latlng_to_cell(lat, lon, 10),
                "kind": ["walk", "ride", None][number % 3],
                "device": None if number % 11 == 0 else int(random.integers(0, 40)),
                "length_m": None if number % 7 == 0 else int(random.integers(0, 1000)),
            }
        )
    rows[5]["h3"] = rows[6]["h3"] = None
    # A cell that is coarser than the finest resolution that is asked for.
    rows[7]["h3"] = h3.latlng_to_cell(52.5, 13.4, 6)
    return pa.Table.from_pylist(rows)


def rolled(rows: list[dict[str, Any]], by: list[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        for level in LEVELS:
            cell = row["h3"]
            has_parent = cell is not None and h3.get_resolution(cell) >= level
            key = h3.cell_to_parent(cell, level) if has_parent else None
            groups[(key, level, *(row[column] for column in by))].append(row)
    answers = {}
    for key, members in groups.items():
        lengths = [row["length_m"] for row in members if row["length_m"] is not None]
        answers[key] = {
            "events": len(members),
            "measured": len(lengths),
            "total_m": sum(lengths) if lengths else None,
            "longest_m": max(lengths, default=None),
            "shortest_m": min(lengths, default=None),
            "devices": len({row["device"] for row in members if row["device"] is not None}),
            "spread": len({(row["device"] or 0) % 5 for row in members if row["device"] is not None}),
        }
    return answers


AGGREGATES = """{
    'events': 'count(*)',
    'measured': 'COUNT(length_m)',
    'total_m': 'sum(length_m)',
    'longest_m': 'max( length_m )',
    'shortest_m': 'min(length_m)',
    'devices': 'count(distinct device)',
    'spread': 'count(distinct pmod(device, 5))',
}"""


def test_rollups_equal_aggregates_of_all_rows(bench: Workbench, events: pa.Table) -> None:
    table = bench.table("events", events)
    given = f"{LEVELS}, {AGGREGATES}"
    found = bench.run(
        {
            "by_cell": f'select * from {{{{ rollup_cells("{table}", {given}) }}}}',
            "by_kind": f"""
                with places as (select h3 as place, * except (h3) from {table})
                select rolled.* from {{{{ rollup_cells('places', {given}, cell='place', by=['kind']) }}}} as rolled
            """,
            "plain": f"select * from {{{{ rollup_cells(\"{table}\", [9], {{'events': 'count(*)'}}) }}}}",
        }
    )
    for model, by in (("by_cell", []), ("by_kind", ["kind"])):
        expected = rolled(events.to_pylist(), by)
        keys = ["h3", "resolution", *by]
        rows = found[model].to_pylist()
        assert found[model].column_names == [*keys, *next(iter(expected.values()))]
        assert {tuple(row.pop(key) for key in keys): row for row in rows} == expected
        assert len(rows) == len(expected)
    assert sum(found["plain"]["events"].to_pylist()) == len(events)


def gi_star(values: dict[int, float], rings: int) -> dict[int, tuple[float, int]]:
    """By the book, with the whole matrix of weights."""
    cells = list(values)
    x = np.array([values[cell] for cell in cells])
    disks = [set(h3.grid_disk(cell, rings)) for cell in cells]
    weights = np.array([[1.0 if other in disk else 0.0 for other in cells] for disk in disks])
    count = len(x)
    spread = np.sqrt((x**2).sum() / count - x.mean() ** 2)
    sums = weights.sum(axis=1)
    below = spread * np.sqrt((count * (weights**2).sum(axis=1) - sums**2) / (count - 1))
    scores = (weights @ x - x.mean() * sums) / below
    return {cell: (score, int(number)) for cell, score, number in zip(cells, scores, sums, strict=True)}


def test_hotspots_equal_the_definition(bench: Workbench) -> None:
    random = np.random.default_rng(8)
    middle = h3.latlng_to_cell(52.5, 13.4, 8)
    disk = h3.grid_disk(middle, 9)
    # A third of the cells are missing, one lies alone, and a pentagon has neighbours too.
    pentagon = h3.get_pentagons(8)[3]
    chosen = [cell for cell in disk if random.uniform() < 0.66] + [h3.latlng_to_cell(-33, 151, 8)]
    chosen += h3.grid_disk(pentagon, 2)
    hot = set(h3.grid_disk(middle, 2))
    values = {cell: float(random.poisson(3) + (9 if cell in hot else 0)) for cell in chosen}
    coarse = {cell: float(random.normal()) for cell in h3.grid_disk(h3.latlng_to_cell(10, 10, 5), 4)}
    rows = []
    for cell, value in (values | coarse).items():
        # In two rows: they are added up.
        rows += [{"place": cell, "size": value - 1.5}, {"place": cell, "size": 1.5}]
    rows += [{"place": None, "size": 100.0}, {"place": 17, "size": 100.0}, {"place": disk[0], "size": None}]
    table = bench.table("sizes", pa.Table.from_pylist(rows))
    same = bench.table("same", pa.table({"h3": disk, "size": [2] * len(disk)}))
    lone = bench.table("lone", pa.table({"h3": disk[:1], "size": [2]}))
    near = bench.table("near", pa.table({"h3": h3.grid_disk(middle, 1), "size": range(7)}))
    found = bench.run(
        {
            f"spots_{rings}": f"select * from {{{{ hotspots(\"{table}\", 'size', cell='place', rings={rings}) }}}}"
            for rings in (0, 1, 3)
        }
        | {
            name: f"select * from {{{{ hotspots(\"{relation}\", 'size', rings=2) }}}}"
            for name, relation in (("same_everywhere", same), ("alone", lone), ("all_neighbours", near))
        }
    )
    for rings in (0, 1, 3):
        rows = found[f"spots_{rings}"].to_pylist()
        expected = gi_star(values, rings) | gi_star(coarse, rings)
        assert {row["h3"] for row in rows} == set(expected) and len(rows) == len(expected)
        for row in rows:
            score, neighbours = expected[row["h3"]]
            assert row["cell_count"] == neighbours
            assert row["resolution"] == h3.get_resolution(row["h3"])
            assert row["value"] == pytest.approx((values | coarse)[row["h3"]])
            assert row["z_score"] == pytest.approx(score, rel=1e-9, abs=1e-9)
            assert row["p_value"] == pytest.approx(math.erfc(abs(score) / math.sqrt(2)), rel=1e-9)
    assert max(found["spots_1"].to_pylist(), key=lambda row: row["z_score"])["h3"] in hot
    for name in ("same_everywhere", "alone", "all_neighbours"):
        assert {(row["z_score"], row["p_value"]) for row in found[name].to_pylist()} == {(None, None)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("rollup_cells('x', 7, {'a': 'count(*)'})", "resolutions must be a list such as [7, 8, 9], got 7"),
        ("rollup_cells('x', [], {'a': 'count(*)'})", "resolutions must be a list such as [7, 8, 9], got []"),
        ("rollup_cells('x', [16], {'a': 'count(*)'})", "rollup_cells: resolution must be 0-15, got 16"),
        ("rollup_cells('x', [7], {})", "aggregates must map names to SQL"),
        ("rollup_cells('x', [7], {'a': 'avg(b)'})", "a must be sum, count, min or max of an expression"),
        ("rollup_cells('x', [7], {'a': 'sum(distinct b)'})", "got sum(distinct b)"),
        ("rollup_cells('x', [7], {'a': 'count(distinct b, c)'})", "got count(distinct b, c)"),
        ("rollup_cells('x', [7], {'a': 'sum(b) / sum(c)'})", "got sum(b) / sum(c)"),
        ("rollup_cells('x', [7], {'a': 'count(*)'}, by='kind')", "by must be a list of columns, got kind"),
        ("hotspots('x', 'size', rings=-1)", "hotspots: rings must be a whole number from 0 up, got -1"),
    ],
)
def test_mistakes_are_named(bench: Workbench, call: str, message: str) -> None:
    assert message in bench.error(f"select * from {{{{ {call} }}}}")
