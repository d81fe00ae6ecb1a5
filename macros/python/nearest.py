"""Nearest neighbours and snapping, called from Jinja on the driver: see macros/join/nearest.sql and snap_to_lines.sql."""

from typing import Any

from geostrata.spatial import nearest_plan


def plan_nearest(spark: Any, left: str, right: str, view: str, **how: Any) -> None:
    """Makes a temporary view of the k nearest rows on the right of each on the left."""
    nearest_plan.nearest(spark, spark.sql(left), spark.sql(right), **how).createOrReplaceTempView(view)


def plan_snap_to_lines(spark: Any, left: str, right: str, view: str, **how: Any) -> None:
    """Makes a temporary view of points, each on its nearest line."""
    nearest_plan.snap_to_lines(spark, spark.sql(left), spark.sql(right), **how).createOrReplaceTempView(view)
