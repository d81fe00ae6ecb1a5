"""Spatial joins, called from Jinja on the driver: see macros/join."""

from typing import Any

import pandas as pd
from dbt.adapters.sedona.python_macros import returns

from geostrata.spatial import join


@returns("double")
def geodesic_distance_m(one: pd.Series, other: pd.Series) -> pd.Series:
    """Metres on the spheroid between the nearest points of two shapes (WKB); null where one is missing or empty."""
    from geostrata.spatial.geodesic import distance_m
    from geostrata.spatial.wkb import shapes_of_values

    metres = distance_m(shapes_of_values(one), shapes_of_values(other))
    return pd.Series(metres).where(lambda found: found.notna(), None)


def plan_spatial_join(spark: Any, left: str, right: str, view: str, **how: Any) -> str:
    """Makes a temporary view of the joined rows; returns which plan was taken and why."""
    spec = join.JoinSpec(**how)
    plan = join.plan_join(spark, spark.sql(left), spark.sql(right), spec)
    plan.frame.createOrReplaceTempView(view)
    return f"{plan.name}: {plan.why}"
