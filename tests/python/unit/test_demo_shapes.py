"""What is in the landing's files: formats, shapes and movement."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from geostrata import demo
from geostrata.demo import drops, zones
from geostrata.demo.town import PER_BLOCK, Town, spiral

SMALL = 0.01


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("landing")
    demo.generate(out, scale=SMALL, days=5)
    return out


@pytest.mark.parametrize(
    ("name", "crs", "types"),
    [
        ("parcels/geoparquet/day_0001_part_000.parquet", 4326, {"Polygon"}),
        ("parcels/geoparquet/day_0003_part_000.parquet", 3857, {"Polygon"}),
        ("parcels/geoparquet/day_0004_part_000.parquet", 4326, {"Polygon"}),
        ("zones/zones_day_0001.parquet", 4326, {"Polygon", "MultiPolygon"}),
    ],
)
def test_geoparquet_metadata(landing: Path, name: str, crs: int, types: set[str]) -> None:
    schema = pq.read_schema(landing / name)
    geo = json.loads(schema.metadata[b"geo"])
    column = geo["columns"]["geometry"]
    assert geo["version"] == "1.1.0"
    assert geo["primary_column"] == "geometry"
    assert column["encoding"] == "WKB"
    assert pyproj.CRS.from_json_dict(column["crs"]).to_epsg() == crs
    assert types <= set(column["geometry_types"]) <= types | {"Point", "LineString"}
    assert len(column["bbox"]) == 4
    assert schema.field("geometry").type == pa.binary()
    assert schema.field("updated_at").type == pa.timestamp("us", tz="UTC")


def test_columns_are_as_declared(landing: Path) -> None:
    columns = ["parcel_id", "land_use", "assessed_value", "updated_at", "is_deleted", "crs", "geometry"]
    name = "parcels/geoparquet/day_0001_part_000.parquet"
    assert pq.read_schema(landing / name).names == columns
    zone_schema = pq.read_schema(landing / "zones/zones_day_0001.parquet")
    zone_columns = ["zone_id", "zone_name", "zone_type", "population", "updated_at", "crs", "geometry"]
    assert zone_schema.names == zone_columns
    assert zone_schema.field("population").type == pa.int32()
    for day in (2, 5):
        path = landing / f"parcels/geojson/day_{day:04d}_part_000.geojson"
        collection = json.loads(path.read_text())
        assert collection["type"] == "FeatureCollection"
        for feature in collection["features"]:
            assert list(feature["properties"]) == columns[:-1]


def test_devices_make_several_trips_a_day(landing: Path) -> None:
    times: dict[str, list[datetime]] = defaultdict(list)
    for line in (landing / "telemetry/day_0001_part_000.jsonl").read_text().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if str(record["event_id"]).startswith("E0001"):
            times[record["device_id"]].append(datetime.fromisoformat(record["event_ts"]))
            assert 0 <= record["speed_mps"] < 20
            assert 0 <= record["battery_pct"] <= 100
    assert len(times) == 5
    for seen in times.values():
        # The year 2099 is a planted fault.
        ordered = sorted(moment for moment in seen if moment.year == 2026)
        pauses = [b - a for a, b in pairwise(ordered)]
        assert sum(pause.total_seconds() > 1_800 for pause in pauses) >= 2


def test_spiral_visits_every_block_once() -> None:
    x, y = spiral(np.arange(101**2))
    assert len(set(zip(x.tolist(), y.tolist(), strict=True))) == 101**2
    assert np.abs(x).max() == np.abs(y).max() == 50


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**63 - 1),
    first=st.integers(0, 11_999_000),
    day=st.integers(0, 9_999),
    crs=st.sampled_from(["EPSG:4326", "EPSG:3857", "EPSG:32633"]),
)
def test_parcels_share_borders_and_stay_in_the_extent(seed: int, first: int, day: int, crs: str) -> None:
    """Wherever in the largest town, whatever the version of the front."""
    first -= first % PER_BLOCK
    numbers = np.arange(first, first + 25 * PER_BLOCK)
    town = Town(seed, len(numbers))
    polygons = town.parcel_polygons(numbers, np.where(numbers % 3 == 0, day, 0), crs)
    assert shapely.is_valid(polygons).all()
    # No two parcels overlap, and no sliver opens between neighbours of a block.
    assert shapely.union_all(polygons).area == pytest.approx(shapely.area(polygons).sum())
    for block in polygons.reshape(-1, PER_BLOCK):
        whole = shapely.union_all(block)
        assert whole.geom_type == "Polygon" and not whole.interiors
        assert shapely.coverage_is_valid(block)
    transform = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True).transform

    def degrees(xy: Any) -> Any:
        return np.column_stack(transform(xy[:, 0], xy[:, 1]))

    in_degrees = shapely.transform(polygons, degrees)
    assert shapely.is_valid(in_degrees).all()
    west, south, east, north = shapely.total_bounds(in_degrees)
    assert 14 <= west < east <= 17 and 47 <= south < north <= 49.5


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**63 - 1),
    zone=st.integers(0, 2_000),
    parcels=st.sampled_from([170, 17_000, 1_700_000, 12_000_000]),
)
def test_zones_are_valid_and_in_the_extent(seed: int, zone: int, parcels: int) -> None:
    shape = zones.polygon(Town(seed, parcels), zone, 1)
    assert shape.is_valid
    assert 300 <= len(shapely.get_coordinates(shape)) <= 3_002
    west, south, east, north = shape.bounds
    assert 14 <= west < east <= 17 and 47 <= south < north <= 49.5


def test_zones_come_with_holes_and_in_pieces(landing: Path) -> None:
    wkb = pq.read_table(landing / "zones/zones_day_0001.parquet")["geometry"].to_pylist()
    shapes = [shape for shape in shapely.from_wkb(wkb, on_invalid="ignore") if shape is not None]
    assert any(shape.geom_type == "MultiPolygon" for shape in shapes)
    assert any(shape.geom_type == "Polygon" and shape.interiors for shape in shapes)


@settings(deadline=None)
@given(rows=st.integers(1, 100_000), limit=st.integers(1, 10_000))
def test_parts_hold_every_row_once(rows: int, limit: int) -> None:
    ranges = drops.part_ranges(rows, limit)
    assert ranges[0][0] == 0 and ranges[-1][1] == rows
    assert all(0 < end - start <= limit for start, end in ranges)
    assert all(a[1] == b[0] for a, b in pairwise(ranges))
