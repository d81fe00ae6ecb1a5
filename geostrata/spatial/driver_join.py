"""A join of what conditions leave of two tables, read and joined on the driver.

A join that is computed again for a few changed cells has little to do, and Spark's jobs would take most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.sedona.driver_tables import MOST_BYTES, DriverTable

from geostrata.spatial import join

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Side:
    """What stands after `from`, and a condition on it."""

    relation: str
    where: str | None

    def frame(self, spark: SparkSession) -> Any:
        return spark.sql(f"select * from {self.relation} where {self.where or 'true'}")


def plan_on_driver(spark: SparkSession, left: Side, right: Side, spec: join.JoinSpec) -> join.JoinPlan | None:
    """None where Spark has to read a side, or should: without conditions that leave out most of it, it is no small part."""
    if spec.plan is not None or not left.where or not right.where:
        return None
    tables = [DriverTable.open(spark, side.relation) for side in (left, right)]
    ours, theirs = tables
    if ours is None or theirs is None or not (ours.is_plain(left.where) and theirs.is_plain(right.where)):
        return None
    columns = join.columns_of(ours.spark_schema, theirs.spark_schema, spec)
    right_rows = theirs.rows(columns.of_right(), right.where)
    left_rows = ours.rows(columns.of_left(), left.where) if right_rows is not None else None
    if left_rows is None or right_rows is None:
        return None
    limit = join.megabytes(MOST_BYTES)
    sizes = (
        f"left {join.megabytes(left_rows.nbytes)}, right {join.megabytes(right_rows.nbytes)}, limit {limit}"
    )
    return join.JoinPlan(
        join.join_on_driver(spark, left_rows, right_rows, spec, columns),
        join.DRIVER,
        f"the conditions leave little of either side ({sizes})",
    )
