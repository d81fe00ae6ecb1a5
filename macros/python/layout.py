"""Layout and properties of tables, called from Jinja on the driver: see macros/layout."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dbt.adapters.sedona.table_figures import TableState

from geostrata.layout import clashes, reading, upkeep
from geostrata.layout.declared import Model
from geostrata.layout.ordering import unordered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_layouts(spark: SparkSession, models: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What can't be as declared, and what can only be judged once there is a table."""
    found: dict[str, list[str]] = {"clashes": [], "notes": []}
    for given in models:
        found["clashes"] += clashes.of_model(
            given["facts"],
            lambda given=given: (state := reading.state(spark, given["table"])) and state.figures(),
            lambda given=given: reading.columns_of_types(spark, given["types"]),
            found["notes"].append,
            given["is_rebuilt"],
        )
    return found


def wanted_properties(spark: SparkSession, facts: dict[str, Any], sql: str | None) -> dict[str, str]:
    """The properties of a table that is about to be made of a query."""
    model = Model.of(**facts)
    return upkeep.wanted_properties(model, reading.columns_of_query(spark, sql) if sql else {})


def plan_upkeep(spark: SparkSession, facts: dict[str, Any], table: str) -> dict[str, Any]:
    """What a table needs so that it is as declared, from its log alone."""
    model = Model.of(**facts)
    state = TableState(spark, table)
    found = state.figures()
    return asdict(
        upkeep.plan(
            model, found, lambda: unordered(state.commits_backwards(), model.layout.order, found.bytes)
        )
    )


def count_files(spark: SparkSession, table: str) -> int:
    return TableState(spark, table).figures().files
