"""Clusters, called from Jinja on the driver: see macros/movement/clusters.sql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geostrata.errors import GeostrataError
from geostrata.spatial import clusters
from geostrata.spatial.boxes import TURNS, grown
from geostrata.spatial.tiles import Tiles
from geostrata.spatial.wkb import point_coordinates, shapes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of one tile, its surroundings not counted: what a worker holds at a time.
_POINTS_OF_A_TILE = 100_000
_SAMPLE = 20_000


def plan_clusters(
    spark: SparkSession, points: str, key: str, geometry: str, radius_m: float, min_points: int, view: str
) -> None:
    """Makes a temporary view of the points with their clusters.

    Each tile finds the clusters of its points and of what lies within twice the radius: within the radius of a point it then knows every
    core. Where a core has other labels in other tiles, these are one cluster; only such pairs of labels come to the driver."""
    frame = spark.sql(points)
    for name in (key, geometry):
        if name not in frame.columns:
            raise GeostrataError(
                f"clusters: the relation has no column {name}; it has {', '.join(frame.columns)}"
            )
    frame = frame.selectExpr(f"`{key}` as key", f"`{geometry}` as geometry")
    # Read three times below.
    labelled = _labelled(frame, _tiles(frame), radius_m, min_points).localCheckpoint()
    own = labelled.where("is_own").select("key", "label", "is_core")
    seen = labelled.where("not is_own").selectExpr("key", "label as other")
    pairs = own.join(seen, "key").where("label <> other").select("label", "other").distinct().toArrow()
    merged = clusters.merged(*(pairs.column(name).combine_chunks() for name in ("label", "other")))
    names = spark.createDataFrame(merged, schema=_names_schema(frame)).hint("broadcast")
    found = own.join(names, "label", "left")
    found.selectExpr(
        f"key as `{key}`", "coalesce(cluster, label) as cluster", "is_core"
    ).createOrReplaceTempView(view)


def _names_schema(frame: Any) -> Any:
    from pyspark.sql.types import StructField, StructType

    kind = frame.schema["key"].dataType
    return StructType([StructField("label", kind), StructField("cluster", kind)])


def _tiles(frame: Any) -> Tiles:
    import numpy as np

    count = frame.count()
    sample = frame.select("geometry").sample(min(1.0, _SAMPLE / max(1, count)), seed=1).toArrow()
    places = np.column_stack(_places(sample.column("geometry")))
    return Tiles.of(places[~np.isnan(places).any(axis=1)], -(-count // _POINTS_OF_A_TILE))


def _places(column: Any) -> tuple[Any, Any]:
    """Longitudes and latitudes; not a number for what is no point."""
    import numpy as np
    import shapely

    if found := point_coordinates(column):
        return found
    shapes = shapes_of(column)
    is_point = (shapely.get_type_id(shapes) == shapely.GeometryType.POINT) & ~shapely.is_empty(shapes)
    places = np.full((len(shapes), 2), np.nan)
    places[is_point] = shapely.get_coordinates(shapes[is_point])
    return places[:, 0], places[:, 1]


def _labelled(frame: Any, tiles: Tiles, radius_m: float, min_points: int) -> Any:
    """A row for each point (`is_own`), and one for each core that another tile has seen: with the label that the tile gives it."""
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StructField, StructType

    key = StructField("key", frame.schema["key"].dataType)
    is_own = StructField("is_own", BooleanType())
    dealt = StructType(
        [
            key,
            StructField("lon", DoubleType()),
            StructField("lat", DoubleType()),
            StructField("tile", LongType()),
            is_own,
        ]
    )
    labelled = StructType(
        [key, StructField("label", key.dataType), StructField("is_core", BooleanType()), is_own]
    )

    def deal(batches: Any) -> Any:
        from geostrata.spatial.batches import gathered

        for table in gathered(batches):
            yield from _dealt(table, tiles, radius_m).to_batches()

    def label(table: Any) -> Any:
        return _label(table, radius_m, min_points)

    return frame.mapInArrow(deal, dealt).groupBy("tile").applyInArrow(label, labelled)


def _dealt(table: Any, tiles: Tiles, radius_m: float) -> Any:
    import numpy as np
    import pyarrow as pa

    lon, lat = _places(table.column("geometry"))
    # Points without a place stay somewhere.
    home = np.maximum(tiles.of_points(np.column_stack([lon, lat])), 0)
    boxes = grown(np.column_stack([lon, lat, lon, lat]), 2 * radius_m)
    touched = [tiles.of_boxes(np.add(boxes, (turn, 0, turn, 0))) for turn in TURNS]
    numbers, tile = (np.concatenate(side) for side in zip(*touched, strict=True))
    away = tile != home[numbers]
    others = np.unique(np.column_stack([numbers[away], tile[away]]).astype(np.int64), axis=0)
    rows = np.concatenate([np.arange(len(lon)), others[:, 0]])
    return pa.table(
        {
            "key": table.column("key").take(pa.array(rows)),
            "lon": lon[rows],
            "lat": lat[rows],
            "tile": np.concatenate([home, others[:, 1]]).astype(np.int64),
            "is_own": np.arange(len(rows)) < len(lon),
        }
    )


def _label(table: Any, radius_m: float, min_points: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    # By key, so that the first core is the smallest.
    table = table.take(pc.sort_indices(table.column("key")))
    lon, lat = (table.column(name).to_numpy() for name in ("lon", "lat"))
    found = clusters.dbscan(lon, lat, radius_m, min_points)
    labels = table.column("key").take(pa.array(found.core, mask=found.core < 0))
    labelled = pa.table(
        {
            "key": table.column("key"),
            "label": labels,
            "is_core": found.is_core,
            "is_own": table.column("is_own"),
        }
    )
    return labelled.filter(pc.or_(labelled.column("is_own"), labelled.column("is_core")))
