"""Another layout, the same rows: built beside, compared, and then written over the table in one commit.

Readers keep the version that they read: its files stay until VACUUM. Nothing is swapped but a commit.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geostrata.errors import GeostrataError
from geostrata.layout import statistics
from geostrata.repairs.difference import compare
from geostrata.repairs.plans import Repair
from geostrata.repairs.target import relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def migrate(handle: Any, repair: Repair, check_unchanged: Callable[[], None]) -> None:
    if repair.partition_by is not None:
        _partition(handle, repair, check_unchanged)
    if repair.cluster_by is not None:
        _cluster(handle, repair)


def _partition(handle: Any, repair: Repair, check_unchanged: Callable[[], None]) -> None:
    spark, built = handle.spark, str(repair.made)
    if Path(built).exists():
        raise GeostrataError(f"{built} is there, from a migration that was interrupted: delete it first")
    try:
        _write(spark.sql(repair.before), repair, built)
        _compare(spark, repair, built)
        check_unchanged()
        _drop_statistics(handle, repair)
        _write(spark.sql(f"select * from {relation(built)}"), repair, repair.target.path)
    finally:
        shutil.rmtree(built, ignore_errors=True)


def _write(rows: Any, repair: Repair, path: str) -> None:
    """One commit; properties, constraints and history stay."""
    writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.partitionBy(*(repair.partition_by or ())).save(path)


def _compare(spark: SparkSession, repair: Repair, built: str) -> None:
    from deltalake import DeltaTable

    found = compare(spark, repair.before, f"select * from {relation(built)}", ())
    if not found.is_empty:
        raise GeostrataError(f"what was built beside is not equal: {found.counts}")
    now, then = (
        {field.name: field.to_json() for field in DeltaTable(path).schema().fields}
        for path in (repair.target.path, built)
    )
    lost = [name for name in now if now[name] != then.get(name)]
    if lost:
        # Such as NOT NULL: Delta writes data with columns that may be null.
        raise GeostrataError(
            f"column {lost[0]} would lose a part of its definition ({now[lost[0]]} -> {then.get(lost[0])}). Drop that "
            f"first; what must not be null can have a CHECK constraint instead"
        )


def _drop_statistics(handle: Any, repair: Repair) -> None:
    """Delta keeps no statistics of partition columns, and refuses a table that asks for them."""
    name = statistics.PROPERTY
    columns = [part for part in repair.state.properties.get(name, "").split(",") if part]
    kept = [column for column in columns if column.strip(" `") not in (repair.partition_by or ())]
    if kept == columns:
        return
    change = (
        f"set tblproperties ('{name}' = '{','.join(kept)}')" if kept else f"unset tblproperties ('{name}')"
    )
    handle.execute(f"alter table {repair.target.at()} {change}")


def _cluster(handle: Any, repair: Repair) -> None:
    columns = ", ".join(_quoted(name) for name in repair.cluster_by or ())
    by = f"({columns})" if columns else "none"
    handle.execute(f"alter table {repair.target.at()} cluster by {by}")
    if columns:
        handle.execute(f"optimize {repair.target.at()} full")
        handle.fetchall()


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))
