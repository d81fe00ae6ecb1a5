"""The strategy replace_where, where the driver has the new rows at hand: who writes, and what becomes of the others' rows."""

from __future__ import annotations

from typing import Any

import pytest
from deltalake import DeltaTable
from workbench import Workbench

from geostrata import dbt_calls

MODEL = """
{{{{ config(materialized='incremental', incremental_strategy='replace_where', tblproperties={properties}, post_hook={hook!r}) }}}}
{{%- if is_incremental() %}} {{{{ replace_where({predicate!r}) }}}} {{% endif %}}
select
    {{{{ '{cell}' if is_incremental() else 'bigint(id)' }}}} as h3,
    named_struct('xmin', double(id), 'label', 'ä') as bbox,
    array(string(id)) as names,
    cast(1.5 as decimal(10, 2)) as share,
    timestamp '2024-05-01 12:00:00' as event_ts,
    cast('x' as binary) as geometry
from {{{{ '{again}' if is_incremental() else 'values (null), (1), (10), (11), (25) as given (id)' }}}}
"""
RULE = "alter table {{ this }} add constraint rule check (%s)"


def model(
    again: str = "(10), (15)",
    predicate: str = "h3 between 10 and 19",
    rule: str = "",
    cell: str = "bigint(id)",
    **more: str,
) -> str:
    """`again`: what the second run reads, values or a relation."""
    hook = "{% if not is_incremental() %}" + RULE % rule + "{% endif %}" if rule else ""
    properties = {"geostrata.layer": "gold", "catalog.team_name": "town", **more}
    again = f"values {again} as given (id)" if again.startswith("(") else again
    return MODEL.format(
        again=again, predicate=predicate, cell=cell, hook=hook or "select 1", properties=properties
    )


# Name: the model, who writes the second time (none: nobody may), and the cells that there are then.
CASES: dict[str, tuple[str, str | None, list[int | None]]] = {
    "plainly": (model(), "delta-rs", [None, 1, 10, 15, 25]),
    "by_nothing": (model("(10)", "h3 between 25 and 30 or h3 = 10"), "delta-rs", [None, 1, 10, 11]),
    "with_a_rule": (
        model(rule="bbox.xmin is null or bbox.xmin < 20 or h3 = 25"),
        "delta-rs",
        [None, 1, 10, 15, 25],
    ),
    "with_a_spatial_rule": (
        model(rule="st_x(st_point(bbox.xmin, 0.0)) < 90 or bbox.xmin is null"),
        "Spark",
        [None, 1, 10, 15, 25],
    ),
    "with_a_change_feed": (
        model(**{"delta.enableChangeDataFeed": "true"}),
        "Spark",
        [None, 1, 10, 15, 25],
    ),
    "by_words_of_spark": (model(predicate="h3 in (10, 11, 15)"), "Spark", [None, 1, 10, 15, 25]),
    # Spark converts it.
    "of_another_type": (model(cell="int(id)"), "Spark", [None, 1, 10, 15, 25]),
    # Not rows that the driver has: Spark's executors make them.
    "not_at_hand": (model("range(12, 14)"), "Spark", [None, 1, 12, 13, 25]),
    "against_its_rule": (model("(19)", rule="bbox.xmin is null or h3 <> 19"), None, [None, 1, 10, 11, 25]),
    "beyond_its_predicate": (model("(10), (50)"), None, [None, 1, 10, 11, 25]),
}


@pytest.fixture(scope="module")
def outcomes(bench: Workbench) -> dict[str, Any]:
    models = {name: sql for name, (sql, _, _) in CASES.items()}
    bench.run(models)
    outcome = dbt_calls.invoke(["run", "--select", *models])
    bench.forget(models)
    return {result.node.name: result for result in outcome.result.results}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_replaced_by_whoever_keeps_the_rules(
    bench: Workbench, outcomes: dict[str, Any], name: str
) -> None:
    _, writer, cells = CASES[name]
    table = DeltaTable(bench.state / "warehouse" / "tried.db" / name)
    rows = table.to_pyarrow_table()
    assert sorted(rows["h3"].to_pylist(), key=lambda cell: cell or 0) == cells
    assert str(outcomes[name].status) == ("success" if writer else "error"), outcomes[name].message
    if writer:
        (commit,) = table.history(1)
        assert writer in commit["engineInfo"]
        # Every column came through.
        assert {tuple(row["names"]) for row in rows.to_pylist()} == {
            (None if cell is None else str(cell),) for cell in cells
        }
        assert set(rows["geometry"].to_pylist()) == {b"x"}
        assert len(set(rows["event_ts"].to_pylist())) == len(set(rows["share"].to_pylist())) == 1


@pytest.mark.parametrize(
    ("name", "words"), [("against_its_rule", "rule"), ("beyond_its_predicate", "REPLACE_WHERE")]
)
def test_rows_that_break_a_rule_are_refused_in_sparks_words(
    outcomes: dict[str, Any], name: str, words: str
) -> None:
    assert words.lower() in outcomes[name].message.lower()
