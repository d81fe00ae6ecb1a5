"""Parcels: the land register's daily drop, in turn GeoParquet and GeoJSON, each in another CRS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from geostrata.demo.drops import Drop, Part, part_ranges
from geostrata.demo.noise import Floats, Ints, spread, uniform
from geostrata.demo.parcel_plan import DayPlan, Kind, Rows
from geostrata.demo.policy import POLICY
from geostrata.demo.spoiling import Row, spoil
from geostrata.demo.town import Town
from geostrata.demo.writing import (
    encode_wkb,
    geojson_texts,
    iso,
    timestamps,
    write_geojson,
    write_geoparquet,
)

_LAND_USES = np.array(["residential", "commercial", "industrial", "agricultural", "public"])
_LAND_USE_UP_TO = np.array([0.62, 0.76, 0.84, 0.95])


def drop(town: Town, day: int, plan: DayPlan) -> Drop:
    return Drop("parcels", plan.tally, _parts(town, day, plan))


def _parts(town: Town, day: int, plan: DayPlan) -> Iterator[Part]:
    is_geojson = plan.drop_format == "geojson"
    limit = POLICY.geojson_part_rows if is_geojson else POLICY.parquet_part_rows
    suffix = "geojson" if is_geojson else "parquet"
    for part, (start, end) in enumerate(part_ranges(len(plan.rows.number), limit)):
        path = f"parcels/{plan.drop_format}/day_{day:04d}_part_{part:03d}.{suffix}"
        rows = plan.rows.take(slice(start, end))
        yield Part(path, end - start, partial(_write, town, day, plan, rows))


def _write(town: Town, day: int, plan: DayPlan, rows: Rows, path: Path) -> None:
    geometries = town.parcel_polygons(rows.number, rows.shape_day, plan.crs)
    keys: list[str | None] = [f"P{number:08d}" for number in rows.number.tolist()]
    crs: list[str | None] = [plan.crs] * len(keys)
    ts = rows.ts.copy()
    raw: dict[int, Any] = {}
    for position in np.flatnonzero(rows.fault >= 0).tolist():
        planted = plan.planted[rows.fault[position]]
        key = f"PF{day:04d}{planted.ordinal:06d}" if planted.has_own_key else keys[position]
        sound = Row(key, geometries[position], plan.crs, int(ts[position]))
        faulty = spoil(sound, planted, plan.crs)
        keys[position], crs[position], ts[position] = faulty.key, faulty.crs, faulty.ts
        geometries[position] = faulty.geometry
        if faulty.raw is not None:
            raw[position] = faulty.raw

    land_use = _land_use(town.seed, rows.number)
    value = _assessed_value(town.seed, rows.number, rows.value_day)
    is_deleted = rows.kind == Kind.DELETE
    if plan.drop_format == "geojson":
        properties: dict[str, Any] = {
            "parcel_id": keys,
            "land_use": land_use.tolist(),
            "assessed_value": value.tolist(),
            "updated_at": iso(ts),
            "is_deleted": is_deleted.tolist(),
            "crs": crs,
        }
        write_geojson(path, properties, geojson_texts(geometries, raw), plan.crs)
        return
    columns = {
        "parcel_id": pa.array(keys, type=pa.string()),
        "land_use": pa.array(land_use, type=pa.string()),
        "assessed_value": pa.array(value),
        "updated_at": timestamps(ts),
        "is_deleted": pa.array(is_deleted),
        "crs": pa.array(crs, type=pa.string()),
        "geometry": encode_wkb(geometries, raw),
    }
    write_geoparquet(path, columns, geometries, plan.crs)


def _land_use(seed: int, number: Ints) -> Any:
    chosen = np.searchsorted(_LAND_USE_UP_TO, uniform(seed, "land use", number), side="right")
    return _LAND_USES[chosen]


def _assessed_value(seed: int, number: Ints, value_day: Ints) -> Floats:
    """Many modest parcels, few dear ones; each reassessment moves the value by up to a tenth."""
    base = 60_000 + 540_000 * uniform(seed, "value", number) ** 3
    moved = np.where(value_day == 0, 0.0, 0.1 * spread(seed, "revalue", number, value_day))
    value: Floats = np.round(base * (1 + moved), 2)
    return value
