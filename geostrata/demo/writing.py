"""Writing files: whole or not at all, in the formats of the landing folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from geostrata.demo import crs as crss

TIMESTAMP = pa.timestamp("us", tz="UTC")


def temporary_name(path: Path) -> Path:
    """The leading dot hides the file from Spark until it is complete."""
    return path.with_name(f".{path.name}.tmp")


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        write(temporary)
        # Else a power cut could leave the final name on an empty file.
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def iso(ts: Any, unit: str = "s") -> list[str]:
    """Unix times as ISO 8601 with Z."""
    moments = np.asarray(ts, dtype=np.int64).astype(f"datetime64[{unit}]")
    texts: list[str] = np.datetime_as_string(moments, timezone="UTC").tolist()
    return texts


def timestamps(ts: Any) -> pa.Array:
    return pa.array(np.asarray(ts, dtype=np.int64) * 1_000_000).cast(TIMESTAMP)


def encode_wkb(geometries: Any, raw: dict[int, Any]) -> pa.Array:
    """WKB of the geometries; `raw` holds what stands in a row's place instead."""
    encoded = shapely.to_wkb(geometries)
    for position, value in raw.items():
        encoded[position] = value
    return pa.array(encoded, type=pa.binary())


def write_geoparquet(path: Path, columns: dict[str, Any], geometries: Any, crs: str) -> None:
    """GeoParquet 1.1. Types and bbox are those of the rows that hold a geometry, faulty or not:
    a reader that prunes by them must not lose a row."""
    held = geometries[~shapely.is_missing(geometries) & ~shapely.is_empty(geometries)]
    kinds = {shapely.GeometryType(kind).name for kind in np.unique(shapely.get_type_id(held))}
    names = {
        "POINT": "Point",
        "LINESTRING": "LineString",
        "POLYGON": "Polygon",
        "MULTIPOLYGON": "MultiPolygon",
    }
    column: dict[str, Any] = {
        "encoding": "WKB",
        "geometry_types": sorted(names[kind] for kind in kinds),
        "crs": crss.projjson(crs),
        "edges": "planar",
    }
    if len(held):
        column["bbox"] = [float(value) for value in shapely.total_bounds(held)]
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    table = pa.table(columns).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, path, compression="snappy")


def geojson_texts(geometries: Any, raw: dict[int, Any]) -> list[str]:
    texts = ["null" if text is None else text for text in shapely.to_geojson(geometries)]
    for position, value in raw.items():
        texts[position] = value
    return texts


def write_geojson(path: Path, properties: dict[str, Sequence[Any]], texts: Sequence[str], crs: str) -> None:
    """A FeatureCollection; the old `crs` member, because the coordinates are not in degrees."""
    name = f"urn:ogc:def:crs:{crs.replace(':', '::')}"
    head = {"type": "name", "properties": {"name": name}}
    names = list(properties)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{{"type":"FeatureCollection","crs":{json.dumps(head)},"features":[\n')
        for number, (text, *values) in enumerate(zip(texts, *properties.values(), strict=True)):
            attributes = json.dumps(dict(zip(names, values, strict=True)))
            comma = ",\n" if number else ""
            file.write(f'{comma}{{"type":"Feature","properties":{attributes},"geometry":{text}}}')
        file.write("\n]}\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(lines))
        file.write("\n")
