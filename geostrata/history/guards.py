"""What must hold before rows are forgotten, so that they do not come back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from geostrata.errors import GeostrataError
from geostrata.history import layers
from geostrata.history.commits import author_of
from geostrata.history.layers import AUDIT, CHECKED, LANDED, ROWS, Request, Table
from geostrata.history.versions import history_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_column(request: Request, tables: list[Table]) -> None:
    checked = [table for table in tables if table.role == CHECKED]
    if not checked:
        raise GeostrataError(
            f"forget: there is no table of {request.entity}_checked yet, so nothing is held. Run dbt build"
        )
    if request.column not in checked[0].columns or request.column in layers.PROVENANCE:
        content = [name for name in checked[0].columns if not name.startswith("_")]
        raise GeostrataError(
            f"forget: {checked[0].name} has no column {request.column}; there are {', '.join(content)}"
        )


def check_judged(spark: SparkSession, tables: list[Table]) -> None:
    (checked,) = (table for table in tables if table.role == CHECKED)
    for table in tables:
        if table.role == LANDED:
            waiting = spark.sql(
                f"select 1 from {table.name} left semi join {ROWS} using (_row_id)"
                f" left anti join {checked.name} using (_row_id)"
            ).count()
            if waiting:
                raise GeostrataError(
                    f"forget: {waiting:,} of the rows in {table.name} have not been judged yet, and would be taken from "
                    f"its change feed later. First: dbt build --select {checked.name.split('.')[-1]}+"
                )


def check_audit(spark: SparkSession, tables: list[Table]) -> None:
    """The audit must not read later, from the change feed, what is being forgotten now."""
    entity = [table.name for table in tables if table.role == layers.ENTITY]
    for audit in (table.name for table in tables if table.role == AUDIT):
        notes = spark.sql(history_sql(audit)).select("userMetadata").collect()
        inputs = [json.loads(row[0])["dbt_inputs"] for row in notes if '"dbt_inputs"' in (row[0] or "")]
        for name in entity:
            seen = inputs[0].get(name) if inputs else None
            if seen is not None and _has_changed_since(spark, name, seen):
                raise GeostrataError(
                    f"forget: {audit} has not yet read the newest changes of {name}. First: "
                    f"dbt run --select {audit.split('.')[-1]}"
                )


def _has_changed_since(spark: SparkSession, table: str, version: int) -> bool:
    """By other commits than those of `forget`, which the audit passes over."""
    later = spark.sql(history_sql(table)).where(f"version > {version}").select("userMetadata").collect()
    return any(not author_of(row[0]).is_forgetting for row in later)


def check_log(spark: SparkSession, log: str) -> None:
    if not spark.catalog.tableExists(log):
        raise GeostrataError(
            f"forget: there is no {log} to write it down in. First: dbt run --select forget_log"
        )
