"""Nearest neighbours and snapping, called from Jinja on the driver: see macros/join/nearest.sql and snap_to_lines.sql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geostrata.spatial import nearest_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_nearest(spark: SparkSession, left: str, right: str, view: str, **how: Any) -> None:
    """Makes a temporary view of the k nearest rows on the right of each on the left."""
    nearest_plan.nearest(spark, spark.sql(left), spark.sql(right), **how).createOrReplaceTempView(view)


def plan_snap_to_lines(spark: SparkSession, left: str, right: str, view: str, **how: Any) -> None:
    """Makes a temporary view of points, each on its nearest line."""
    nearest_plan.snap_to_lines(spark, spark.sql(left), spark.sql(right), **how).createOrReplaceTempView(view)
