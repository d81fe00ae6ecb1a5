"""Spatial joins, called from Jinja on the driver: see macros/join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from dbt.adapters.sedona.python_macros import returns

from geostrata.spatial import join
from geostrata.spatial.driver_join import Side, plan_on_driver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@returns("double")
def geodesic_distance_m(one: pd.Series, other: pd.Series) -> pd.Series:
    """Metres on the spheroid between the nearest points of two shapes (WKB); null where one is missing or empty."""
    from geostrata.spatial.geodesic import distance_m
    from geostrata.spatial.wkb import shapes_of_values

    metres = distance_m(shapes_of_values(one), shapes_of_values(other))
    return pd.Series(metres).where(lambda found: found.notna(), None)


def plan_spatial_join(
    spark: SparkSession,
    left: str,
    right: str,
    view: str,
    left_where: str | None = None,
    right_where: str | None = None,
    **how: Any,
) -> str:
    """Makes a temporary view of the joined rows; returns which plan was taken and why."""
    spec = join.JoinSpec(**how)
    sides = Side(left, left_where), Side(right, right_where)
    plan = plan_on_driver(spark, *sides, spec)
    if plan is None:
        plan = join.plan_join(spark, *(side.frame(spark) for side in sides), spec)
    plan.frame.createOrReplaceTempView(view)
    return f"{plan.name}: {plan.why}"
