"""The part of a join that has changed, called from Jinja on the driver: see macros/join/recompute_cells.sql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dbt.adapters.sedona.driver_tables import DriverTable

from geostrata.spatial import touched
from geostrata.spatial.wkb import shapes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_touched_cells(
    spark: SparkSession,
    points: dict[str, Any] | None,
    shapes: dict[str, Any] | None,
    column: str,
    resolution: int,
    stored: int,
    distance_m: float | None,
) -> dict[str, str]:
    """`points` and `shapes` say where changed rows are found: `location` of their table, `first` and `last` version to look at.
    None where nothing has changed."""
    changed_cells = (
        _changed(spark, points, column).drop_null().to_numpy() if points else np.empty(0, np.int64)
    )
    changed_shapes = shapes_of(_changed(spark, shapes, "geometry")) if shapes else []
    cells = touched.touched_cells(
        touched.parents_of(changed_cells, resolution), changed_shapes, resolution, distance_m
    )
    return {
        "points": touched.rows_condition(cells, column, stored),
        "shapes": touched.shapes_condition(cells, distance_m),
    }


def _changed(spark: SparkSession, feed: dict[str, Any], column: str) -> Any:
    """The column's values among rows that were added, changed or removed."""
    table = DriverTable.open(spark, f"delta.`{feed['location']}`")
    found = table.changes(column, feed["first"], feed["last"]) if table else None
    if found is None:
        changes = f"table_changes_by_path('{feed['location']}', {feed['first']}, {feed['last']})"
        found = spark.sql(f"select distinct {column} from {changes}").toArrow()
    return found.column(column)
