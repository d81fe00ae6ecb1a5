"""The part of a join that has changed, called from Jinja on the driver: see macros/join/recompute_cells.sql."""

from typing import Any

from geostrata.spatial import touched
from geostrata.spatial.wkb import shapes_of


def plan_touched_cells(
    spark: Any,
    points: str | None,
    shapes: str | None,
    column: str,
    resolution: int,
    stored: int,
    distance_m: float,
) -> dict[str, str]:
    """`points` and `shapes` are relations of changed cells and of changed shapes; none where nothing has changed."""
    changed_cells = _column(spark, points, "cell").to_pylist() if points else []
    changed_shapes = shapes_of(_column(spark, shapes, "geometry")) if shapes else []
    cells = touched.touched_cells(
        [cell for cell in changed_cells if cell is not None], changed_shapes, resolution, distance_m
    )
    return {
        "points": touched.rows_condition(cells, column, stored),
        "shapes": touched.shapes_condition(cells, distance_m),
    }


def _column(spark: Any, relation: str, name: str) -> Any:
    return spark.sql(f"select {name} from {relation}").toArrow().column(name)
