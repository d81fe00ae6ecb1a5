"""Windows, called from Jinja on the driver: see macros/join/within_window.sql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geostrata.spatial import windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_window(
    spark: SparkSession, wkt: Any = None, bbox: Any = None, shapes: str | None = None, relation: str = ""
) -> Any:
    """The boxes and the exact shape of a window, as text."""
    if bbox is not None:
        return windows.as_sql(windows.of_bbox(bbox))
    if wkt is not None:
        return windows.as_sql(windows.of_wkt(wkt))
    from geostrata.spatial.wkb import shapes_of

    found = shapes_of(spark.sql(shapes).toArrow().column(0))
    return windows.as_sql(windows.of_shapes(found, relation))
