"""Spatial joins, called from Jinja on the driver: see macros/join."""

from typing import Any

from geostrata.spatial import join


def plan_spatial_join(spark: Any, left: str, right: str, view: str, **how: Any) -> str:
    """Makes a temporary view of the joined rows; returns which plan was taken and why."""
    spec = join.JoinSpec(**how)
    plan = join.plan_join(spark, spark.sql(left), spark.sql(right), spec)
    plan.frame.createOrReplaceTempView(view)
    return f"{plan.name}: {plan.why}"
