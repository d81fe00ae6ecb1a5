"""Takes rows out of tables, one commit a table, and writes down how many. Which rows is said by views of the session."""

from __future__ import annotations

import getpass
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from geostrata.errors import GeostrataError
from geostrata.history import layers
from geostrata.history.commits import FORGET
from geostrata.history.layers import CHECKED, LANDED, ROWS, Request, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True)
class Step:
    table: Table
    rows: int
    # Otherwise it follows from the table's role.
    statement: str | None = None


def table_of(spark: SparkSession, entry: dict[str, str]) -> Table | None:
    if not spark.catalog.tableExists(entry["name"]):
        return None
    return Table(entry["name"], entry["role"], tuple(spark.table(entry["name"]).columns))


def steps_of(spark: SparkSession, tables: list[Table], request: Request) -> list[Step]:
    """In the order in which they are done; tables without such rows have none."""
    ordered = sorted(tables, key=lambda table: layers.ORDER.index(table.role))
    found = (Step(table, _count(spark, table, request)) for table in ordered)
    return [step for step in found if step.rows]


def _count(spark: SparkSession, table: Table, request: Request) -> int:
    if table.role in (LANDED, CHECKED):
        condition = (
            f"{ROWS} as source on target._row_id = source._row_id"
            f" where not {layers.is_marked('target.' + layers.mark_column(table))}"
        )
    else:
        found = layers.matching(table, request)
        if found is None:
            return 0
        condition = found
    (row,) = spark.sql(f"select count(*) from {table.name} as target inner join {condition}").collect()
    return int(row[0])


def apply(spark: SparkSession, request: Request, steps: list[Step], log: str) -> None:
    for step in steps:
        _check_files(spark, step.table.name)
    request_id = str(uuid.uuid4())
    spark.conf.set(_USER_METADATA, json.dumps({FORGET: request_id}))
    try:
        for step in steps:
            note = layers.mark(request_id)
            statement = step.statement or layers.removal(step.table, request, note)
            with _writable(spark, step.table.name):
                spark.sql(str(statement)).collect()
            _record(spark, request, request_id, step, log)
    finally:
        spark.conf.unset(_USER_METADATA)


def _check_files(spark: SparkSession, table: str) -> None:
    if _properties(spark, table).get("delta.enableDeletionVectors") == "true":
        raise GeostrataError(
            f"forget: {table} uses deletion vectors, which leave rows in their files. Set delta.enableDeletionVectors to "
            f"false and run `reorg table {table} apply (purge)` first"
        )


@contextmanager
def _writable(spark: SparkSession, table: str) -> Iterator[None]:
    """Append-only is lifted for one statement. Were the process killed here, the next dbt run sets the property again."""
    if _properties(spark, table).get("delta.appendOnly") != "true":
        yield
        return
    spark.sql(f"alter table {table} set tblproperties ('delta.appendOnly' = 'false')")
    try:
        yield
    finally:
        spark.sql(f"alter table {table} set tblproperties ('delta.appendOnly' = 'true')")


def _properties(spark: SparkSession, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in spark.sql(f"show tblproperties {table}").collect()}


def _record(spark: SparkSession, request: Request, request_id: str, step: Step, log: str) -> None:
    schema = (
        "request_id string, entity string, searched_column string, relation_name string, reason string, user_name string,"
        " rows_forgotten bigint, forgotten_at timestamp"
    )
    row = (request_id, request.entity, request.column, step.table.name, request.reason, _user(), step.rows)
    spark.createDataFrame([(*row, datetime.now(UTC))], schema).write.insertInto(log)


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return None


def told(step: Step) -> str:
    verb = "emptied" if step.table.role in (LANDED, CHECKED) else "deleted"
    return f"  {step.table.name}: {rows_told(step)} {verb}"


def rows_told(step: Step) -> str:
    return f"{step.rows:,} {'row' if step.rows == 1 else 'rows'}"
