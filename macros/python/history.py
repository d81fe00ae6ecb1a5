"""Versions of tables, called from Jinja on the driver, and how shapes have changed, called from SQL: see macros/history."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
from dbt.adapters.sedona.errors import one_line
from dbt.adapters.sedona.python_macros import returns

from geostrata.errors import GeostrataError
from geostrata.history import commits, forget, layers, retain, versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@returns("string")
def shape_change(before: pd.Series, after: pd.Series, tolerance: pd.Series) -> pd.Series:
    """same, nudged, moved or reshaped; the tolerance, in degrees, is one number for all rows."""
    from geostrata.history import shapes

    if before.empty:
        return pd.Series([], dtype=object)
    return pd.Series(shapes.shape_changes(before, after, float(tolerance.iloc[0])))


def find_version(spark: SparkSession, macro: str, table: str, at: Any) -> dict[str, Any]:
    """The version that a number, or the text of a time, means, and the columns that the table had: [name, type]."""
    known = _known_versions(spark, macro, table)
    if isinstance(at, str):
        number = versions.by_time(macro, table, known, at, datetime.now(UTC))
    else:
        number = versions.by_number(macro, table, known, at)
    fields = spark.sql(f"select * from {table} version as of {number}").schema.fields
    return {"version": number, "columns": [[field.name, field.dataType.simpleString()] for field in fields]}


def feed_facts(spark: SparkSession, table: str, first: int | None, last: int) -> dict[str, Any]:
    """What can be told of the change feed up to a version: the first one to read, where none is given, and of each commit its
    version, operation, engine, and what its note tells of its author."""
    history = spark.sql(versions.history_sql(table)).selectExpr(
        "version",
        "unix_micros(timestamp) as micros",
        "operation",
        "operationParameters",
        "engineInfo",
        "userMetadata",
    )
    # One job for all: the newest commit comes first.
    rows = history.collect()[::-1]
    start = first if first is not None else _first_readable(spark, table, rows)
    return {
        "first": start,
        "commits": [
            {
                "version": row["version"],
                "operation": row["operation"],
                "engine": row["engineInfo"],
                **asdict(commits.author_of(row["userMetadata"])),
            }
            for row in rows
            if start <= row["version"] <= last
        ],
    }


def _first_readable(spark: SparkSession, table: str, history: list[Any]) -> int:
    """The first version of which the change feed can still be read: VACUUM has deleted none of its files, and it has the
    columns that the table has now."""
    kept_since = max(
        (row["micros"] - _retention(row) for row in history if row["operation"] == "VACUUM START"), default=0
    )
    readable = [row for row in history if row["micros"] >= kept_since]
    replaced = [row["version"] for row in readable[1:] if "REPLACE TABLE" in row["operation"]]
    present = spark.table(table).schema
    for version in reversed(replaced):
        if spark.sql(f"select * from {table} version as of {version - 1}").schema != present:
            return int(version)
    return int(readable[0]["version"] if readable else history[-1]["version"] + 1)


def _retention(vacuum: Any) -> int:
    """Of a VACUUM, in microseconds."""
    given = vacuum["operationParameters"] or {}
    return 1000 * int(given.get("specifiedRetentionMillis") or given.get("defaultRetentionMillis") or 0)


def forget_key(
    spark: SparkSession, request: dict[str, str], tables: list[dict[str, str]], log: str, apply: bool
) -> str:
    """Shows, or does, what takes a key out of every table; returns what is to be said."""
    return forget.run(spark, layers.Request(**request), tables, log, apply)


def retain_rows(spark: SparkSession, rules: list[dict[str, Any]], log: str, apply: bool) -> str:
    """Shows, or does, what deletes rows that are too old; returns what is to be said."""
    return retain.run(spark, [retain.Rule(**rule) for rule in rules], log, apply)


def _known_versions(spark: SparkSession, macro: str, table: str) -> list[versions.Version]:
    """Oldest first."""
    if not spark.catalog.tableExists(table):
        raise GeostrataError(
            f"{macro}: there is no table {table} yet. Build it first: dbt run --select {table.split('.')[-1]}"
        )
    try:
        # As a number: Spark's driver would give the time in the machine's own zone.
        rows = spark.sql(versions.history_sql(table)).selectExpr("version", "unix_micros(timestamp)")
        found = sorted(tuple(row) for row in rows.collect())
    except Exception as error:
        raise GeostrataError(
            f"{macro}: {table} has no versions, it is no Delta table: {one_line(error)}"
        ) from error
    return [versions.Version(number, _moment(micros)) for number, micros in found]


def _moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, UTC)
