"""Small files of every format, and a short way to read them."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj
import shapely
from pyogrio.raw import write

from geostrata.readers import SourceSpec, landed, read

COLUMNS = {"id": "bigint", "name": "string", "area": "double", "geometry": "binary"}
TEXT_COLUMNS = {**COLUMNS, "geometry": "string"}
OGR_DRIVERS = {"shp": "ESRI Shapefile", "gpkg": "GPKG", "fgb": "FlatGeobuf"}
FORMATS = {
    "shp": "shapefile",
    "gpkg": "geopackage",
    "fgb": "flatgeobuf",
    "parquet": "geoparquet",
    "geojson": "geojson",
    "geojsonl": "geojsonl",
    "jsonl": "jsonl",
    "csv": "csv",
}


def rows_of(path: Path, spec: SourceSpec) -> list[dict[str, Any]]:
    return [row for batch in read(landed(path), spec) for row in batch.to_pylist()]


def spec_for(ending: str, **more: Any) -> SourceSpec:
    is_text = ending in ("geojson", "geojsonl", "jsonl", "csv")
    return SourceSpec(FORMATS[ending], TEXT_COLUMNS if is_text else COLUMNS, **more)


def shapes(count: int) -> Any:
    return shapely.buffer(shapely.points(np.arange(count) * 10.0, np.arange(count) * 3.0), 2.0, quad_segs=2)


def names(count: int) -> list[str]:
    return [f"Straße {number}" for number in range(count)]


def write_ogr(
    path: Path, count: int = 20, layer: str | None = None, append: bool = False, **more: Any
) -> Path:
    ending = path.suffix.removeprefix(".")
    write(
        str(path),
        shapely.to_wkb(shapes(count)),
        [
            np.arange(count, dtype="int64"),
            np.array(names(count), dtype=object),
            np.arange(count) / 4,
        ],
        ["id", "name", "area"],
        crs="EPSG:2056",
        geometry_type="Polygon",
        driver=OGR_DRIVERS[ending],
        layer=layer or path.stem,
        encoding="UTF-8",
        append=append,
        **more,
    )
    return path


def write_geoparquet(path: Path, count: int = 20, crs: Any = "EPSG:2056", **more: Any) -> Path:
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Polygon"]}
    if crs != "absent":
        column["crs"] = json.loads(pyproj.CRS(crs).to_json()) if crs else None
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    table = pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "name": names(count),
            "area": [number / 4 for number in range(count)],
            "geometry": pa.array(shapely.to_wkb(shapes(count)).tolist(), pa.binary()),
        }
    )
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path, **more)
    return path


def feature_texts(count: int) -> list[str]:
    return [
        json.dumps(
            {
                "type": "Feature",
                "properties": {"id": number, "name": name, "area": number / 4},
                "geometry": json.loads(shapely.to_geojson(shape)),
            },
            ensure_ascii=False,
        )
        for number, (name, shape) in enumerate(zip(names(count), shapes(count), strict=True))
    ]


def collection(features: list[str], crs: str | None = None) -> str:
    head = ""
    if crs:
        named = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:{crs.replace(':', '::')}"}}
        head = f'"crs":{json.dumps(named)},'
    return f'{{"type":"FeatureCollection",{head}"features":[\n' + ",\n".join(features) + "\n]}\n"


def csv_text(count: int = 20) -> str:
    lines = ["id,name,area,geometry"]
    lines += [
        f'{number},{name},{number / 4},"{shape.wkt}"'
        for number, (name, shape) in enumerate(zip(names(count), shapes(count), strict=True))
    ]
    return "\n".join(lines) + "\n"


def json_line_texts(count: int) -> list[str]:
    return [
        json.dumps({"id": number, "name": name, "area": number / 4, "geometry": shape.wkt})
        for number, (name, shape) in enumerate(zip(names(count), shapes(count), strict=True))
    ]


def write_any(folder: Path, ending: str, count: int = 20) -> Path:
    path = folder / f"town.{ending}"
    if ending in OGR_DRIVERS:
        return write_ogr(path, count)
    if ending == "parquet":
        return write_geoparquet(path, count)
    texts = {
        "geojson": lambda: collection(feature_texts(count), "EPSG:2056"),
        "geojsonl": lambda: "\n".join(feature_texts(count)) + "\n",
        "jsonl": lambda: "\n".join(json_line_texts(count)) + "\n",
        "csv": lambda: csv_text(count),
    }
    path.write_text(texts[ending](), encoding="utf-8")
    return path


def gzipped(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def zipped(path: Path, *others: Path) -> Path:
    packed = path.with_suffix(".zip")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/._junk", b"junk")
        for part in (path, *others):
            archive.write(part, part.name)
    return packed
