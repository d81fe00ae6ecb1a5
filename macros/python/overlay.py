"""Overlay, dissolve and the tests of coverages, called from Jinja on the driver; measures of shapes, called from SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from dbt.adapters.sedona.python_macros import returns

from geostrata.spatial import coverage, overlay_plan
from geostrata.spatial import dissolve as dissolving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_overlay(spark: SparkSession, left: str, right: str, view: str, **how: Any) -> None:
    """Makes a temporary view of the common parts of two relations' shapes."""
    spec = overlay_plan.OverlaySpec(**how)
    overlay_plan.overlay(spark, spark.sql(left), spark.sql(right), spec).createOrReplaceTempView(view)


def plan_dissolve(spark: SparkSession, relation: str, by: Any, geometry: str, view: str) -> None:
    """Makes a temporary view of the union of shapes by key."""
    dissolving.dissolve(spark, spark.sql(relation), by, geometry).createOrReplaceTempView(view)


def plan_overlapping(
    spark: SparkSession, relation: str, key: Any, geometry: str, tolerance_m2: float, view: str
) -> None:
    """Makes a temporary view of pairs of shapes that share area."""
    found = coverage.overlapping(spark, spark.sql(relation), _names(key), geometry, tolerance_m2)
    found.createOrReplaceTempView(view)


def plan_uncovered(
    spark: SparkSession, relation: str, key: Any, geometry: str, cover: str, cover_geometry: str, view: str
) -> None:
    """Makes a temporary view of how much of each shape lies outside of a cover."""
    found = coverage.uncovered(
        spark, spark.sql(relation), _names(key), geometry, spark.sql(cover), cover_geometry
    )
    found.createOrReplaceTempView(view)


def plan_gaps(
    spark: SparkSession,
    outer: str,
    key: Any,
    outer_geometry: str,
    cover: str,
    geometry: str,
    tolerance_m2: float,
    view: str,
) -> None:
    """Makes a temporary view of the gaps that a cover leaves in outer shapes."""
    found = coverage.gaps(
        spark, spark.sql(outer), _names(key), outer_geometry, spark.sql(cover), geometry, tolerance_m2
    )
    found.createOrReplaceTempView(view)


def plan_duplicates(spark: SparkSession, relation: str, key: Any, geometry: str, view: str) -> None:
    """Makes a temporary view of rows whose shape another row has, too."""
    coverage.duplicates(spark, spark.sql(relation), _names(key), geometry).createOrReplaceTempView(view)


@returns("double")
def area_m2(geometry: pd.Series) -> pd.Series:
    """Square metres on the spheroid: 0 for lines and points, null for no geometry."""
    from geostrata.spatial import areas, measures

    return pd.Series(areas.area_m2(measures.shapes(geometry)))


@returns("boolean")
def has_place(geometry: pd.Series) -> pd.Series:
    """Whether there is a geometry that can be read and is not empty."""
    import shapely

    from geostrata.spatial import measures

    shapes = measures.shapes(geometry)
    return pd.Series(~shapely.is_missing(shapes) & ~shapely.is_empty(shapes))


@returns("string")
def invalid_reason(geometry: pd.Series) -> pd.Series:
    """What GEOS finds wrong with a geometry, and where; null if it is valid or there is none."""
    from geostrata.spatial import measures

    return pd.Series(measures.invalid_reasons(geometry), dtype=object)


@returns("struct<width_m: double, compactness: double, area_m2: double>")
def thinnest_part(geometry: pd.Series) -> pd.DataFrame:
    """Of the polygon with the smallest mean width in each shape; nulls where there is no polygon."""
    from geostrata.spatial import measures

    return pd.DataFrame(measures.thinnest_parts(measures.shapes(geometry)))


def _names(key: Any) -> list[str]:
    return [key] if isinstance(key, str) else list(key)
