"""Files as Spark relations: looked at, and read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geostrata.landing.declaration import Declaration
from geostrata.landing.deliveries import Delivery
from geostrata.landing.outcomes import Outcome
from geostrata.landing.storage import Storage
from geostrata.landing.tasks import (
    FILES_SCHEMA,
    OUTCOME_SCHEMA,
    PRINT_SCHEMA,
    check_task,
    print_task,
    read_task,
    rows_schema,
)
from geostrata.readers import LandedFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A task takes some files: enough tasks to share the work evenly, few enough that starting them costs little.
_TASKS_A_CORE = 4


def outcomes(spark: SparkSession, declared: Declaration, files: list[LandedFile]) -> dict[str, Outcome]:
    task = check_task(declared.spec, Storage.of_session(spark))
    frame = _files_frame(spark, [Delivery(file) for file in files]).mapInArrow(
        task, _spark_schema(OUTCOME_SCHEMA)
    )
    return {
        row["path"]: Outcome(row["kind"], row["reason"], json.loads(row["new_columns"]), row["fingerprint"])
        for row in frame.toArrow().to_pylist()
    }


def fingerprints(spark: SparkSession, files: list[LandedFile]) -> dict[str, str | None]:
    """Of each file its size and content; none of one that can't be read now."""
    frame = _files_frame(spark, [Delivery(file) for file in files]).mapInArrow(
        print_task, _spark_schema(PRINT_SCHEMA)
    )
    return {row["path"]: row["fingerprint"] for row in frame.toArrow().to_pylist()}


def landed_rows(spark: SparkSession, declared: Declaration, deliveries: list[Delivery]) -> Any:
    """A lazy DataFrame of all rows of the files."""
    schema = _spark_schema(rows_schema(declared.spec))
    return _files_frame(spark, deliveries).mapInArrow(
        read_task(declared.spec, Storage.of_session(spark)), schema
    )


def _files_frame(spark: SparkSession, deliveries: list[Delivery]) -> Any:
    """Sorted by size before they are dealt out in turn, so that no task gets all the large ones."""
    ordered = sorted(deliveries, key=lambda one: (-one.file.size, one.file.path))
    rows = [
        (one.file.path, one.file.size, one.file.modified_ms, one.number, one.fingerprint) for one in ordered
    ]
    columns = zip(*rows, strict=True) if rows else ((),) * len(FILES_SCHEMA)
    table = pa.Table.from_arrays(
        [pa.array(column, of.type) for column, of in zip(columns, FILES_SCHEMA, strict=True)],
        schema=FILES_SCHEMA,
    )
    tasks = max(1, min(len(deliveries), _TASKS_A_CORE * spark.sparkContext.defaultParallelism))
    frame = spark.createDataFrame(table)
    return frame.repartition(tasks) if tasks > 1 else frame.coalesce(1)


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
