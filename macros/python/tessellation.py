"""Tessellations, called from Jinja on the driver: see macros/join/tessellate.sql."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from geostrata.errors import GeostrataError
from geostrata.spatial import tessellation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A large shape is cut up by cells so many resolutions above the wanted one, and workers share the parts.
_ABOVE = 3
# Of WKB, and of rows, in one go.
_BYTES, _ROWS = 4 << 20, 2_000


def plan_tessellation(
    spark: SparkSession, shapes: str, key: str, geometry: str, resolution: int | None, view: str
) -> str:
    """Makes a temporary view of the cells; returns which resolution was taken and why."""
    frame = spark.sql(shapes)
    for name in (key, geometry):
        if name not in frame.columns:
            raise GeostrataError(
                f"tessellate: the relation has no column {name}; it has {', '.join(frame.columns)}"
            )
    frame = frame.select(key, geometry)
    chosen, why = (resolution, "as asked") if resolution is not None else _chosen(frame, geometry)
    _tessellated(spark, frame, key, geometry, chosen).createOrReplaceTempView(view)
    return f"resolution {chosen}, {why}"


def _chosen(frame: Any, geometry: str) -> tuple[int, str]:
    def areas(batches: Any) -> Any:
        import pyarrow as pa

        from geostrata.spatial.wkb import shapes_of

        for batch in batches:
            found = tessellation.rough_areas_m2(shapes_of(batch.column(geometry)))
            yield pa.RecordBatch.from_arrays([pa.array(found)], ["area_m2"])

    row = (
        frame.mapInArrow(areas, "area_m2 double")
        .where("area_m2 > 0")
        .selectExpr(
            "count(*) as shapes", "percentile_approx(area_m2, 0.5) as middle", "sum(area_m2) as total"
        )
        .first()
    )
    if not row.shapes:
        return 9, "since there is no polygon to go by"
    found = tessellation.choose_resolution(row.middle, row.total)
    cell_m2 = tessellation.h3.average_hexagon_area(found, "m^2")
    return found, (
        f"where the middle one of {row.shapes} shapes, {row.middle / 1e6:.3g} km2, has about {row.middle / cell_m2:,.0f} cells "
        f"(at most {tessellation.CELLS_OF_A_SHAPE:,}) and all together {row.total / cell_m2:,.0f} "
        f"(at most {tessellation.CELLS_IN_ALL:,})"
    )


def _tessellated(spark: SparkSession, frame: Any, key: str, geometry: str, resolution: int) -> Any:
    from pyspark.sql.types import BinaryType, BooleanType, LongType, StructField, StructType

    schema = StructType(
        [
            frame.schema[key],
            StructField("h3", LongType()),
            StructField("is_core", BooleanType()),
            StructField("chip", BinaryType()),
        ]
    )
    coarse = max(0, resolution - _ABOVE)
    parts = spark.sparkContext.defaultParallelism * 4

    def cut_up(batches: Any) -> Any:
        for batch in _in_small_batches(batches, geometry):
            yield from _parts(batch, key, geometry, coarse, schema.names)

    def cover(batches: Any) -> Any:
        for batch in _in_small_batches(batches, "chip"):
            yield from _cells(batch, key, resolution, schema.names)

    shares = frame.repartition(parts).mapInArrow(cut_up, schema).repartition(parts)
    return shares.mapInArrow(cover, schema)


def _in_small_batches(batches: Any, geometry: str) -> Any:
    import numpy as np
    import pyarrow.compute as pc

    for batch in batches:
        sizes = pc.fill_null(pc.binary_length(batch.column(geometry)), 0).to_numpy(zero_copy_only=False)
        group = np.cumsum(sizes) // _BYTES + np.arange(len(sizes)) // _ROWS
        cuts = np.flatnonzero(np.diff(group, prepend=-1, append=-1))
        for start, end in itertools.pairwise(cuts):
            yield batch.slice(start, end - start)


def _parts(batch: Any, key: str, geometry: str, coarse: int, names: list[str]) -> Any:
    """Large shapes as cells with chips that `refine` goes on from, others as they are, without a cell."""
    import numpy as np
    import shapely

    from geostrata.spatial.wkb import shapes_of

    shapes = tessellation.polygons(shapes_of(batch.column(geometry)))
    is_large = tessellation.large(shapes, coarse)
    found = tessellation.cover(np.where(is_large, shapes, None), coarse, is_final=False)
    yield from _rows(batch.column(key), found, names)
    others = np.flatnonzero(~is_large & ~shapely.is_missing(shapes))
    if len(others):
        none = np.zeros(len(others), dtype=np.int64)
        yield from _rows(
            batch.column(key), tessellation.Cells(others, none, none.astype(bool), shapes[others]), names
        )


def _cells(batch: Any, key: str, resolution: int, names: list[str]) -> Any:
    import numpy as np

    from geostrata.spatial.wkb import shapes_of

    chips = shapes_of(batch.column("chip"))
    cells = batch.column("h3").to_numpy()
    core = batch.column("is_core").to_numpy(zero_copy_only=False)
    is_part = cells != 0
    rows = np.arange(len(cells))
    given = tessellation.Cells(rows, cells, core, chips)
    yield from _rows(batch.column(key), tessellation.refine(given.at(is_part), resolution), names)
    yield from _rows(batch.column(key), tessellation.cover(np.where(is_part, None, chips), resolution), names)


def _rows(keys: Any, found: Any, names: list[str]) -> Any:
    import pyarrow as pa
    import shapely

    if not len(found):
        return
    chips = pa.array(shapely.to_wkb(found.chip), pa.binary())
    arrays = [keys.take(pa.array(found.shape)), pa.array(found.cell), pa.array(found.is_core), chips]
    table = pa.Table.from_arrays(arrays, names)
    yield from table.to_batches(max_chunksize=10_000)
