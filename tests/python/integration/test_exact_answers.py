"""Promise 2: what the tables say equals brute force by independent libraries."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import h3
import numpy as np
import pyarrow.parquet as parquet
import pyproj
import pytest
import shapely
from town import Town

GEOD = pyproj.Geod(ellps="WGS84")
SPATIAL_TABLES = [
    "silver.parcels",
    "silver.zones",
    "silver.facilities",
    "silver.telemetry",
    "gold.zone_summary",
]


@pytest.mark.parametrize("table", SPATIAL_TABLES)
def test_boxes_and_cells_equal_those_of_shapely_and_h3(town: Town, table: str) -> None:
    rows = town.rows(table, ["geometry", "bbox", "h3"])
    assert rows
    for row in rows:
        shape = shapely.from_wkb(row["geometry"])
        assert shape.is_valid and not shape.has_z
        assert tuple(row["bbox"][side] for side in ("xmin", "ymin", "xmax", "ymax")) == shape.bounds
        cell = h3.int_to_str(row["h3"])
        assert h3.get_resolution(cell) == 9
        if shape.geom_type == "Point":
            assert cell == h3.latlng_to_cell(shape.y, shape.x, 9)
        else:
            # A point inside the shape: the cell's hexagon and the shape have ground in common.
            hexagon = shapely.Polygon([(lon, lat) for lat, lon in h3.cell_to_boundary(cell)])
            assert hexagon.intersects(shape)


def test_parcels_are_where_proj_puts_them(town: Town) -> None:
    """Each silver geometry equals the landed one, transformed by PROJ, to 1e-9 degrees."""
    landed = _landed_parcels(town)
    to_degrees = {
        crs: pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
        for crs in ("EPSG:3857", "EPSG:32633")
    }
    rows = town.rows("silver.parcels")
    assert {row["source_crs"] for row in rows} == {"EPSG:4326", "EPSG:3857", "EPSG:32633"}
    for row in rows:
        shape = landed[row["parcel_id"], row["updated_at"].timestamp()]
        if transformer := to_degrees.get(row["source_crs"]):
            shape = shapely.transform(shape, lambda xy, t=transformer: np.column_stack(t.transform(*xy.T)))
        found = shapely.get_coordinates(shapely.from_wkb(row["geometry"]))
        assert np.abs(found - shapely.get_coordinates(shape)).max() < 1e-9


def _landed_parcels(town: Town) -> dict[tuple[str, float], Any]:
    landed = {}
    for path in (town.state / "landing/parcels/geoparquet").glob("*.parquet"):
        for row in parquet.read_table(path).to_pylist():
            shape = shapely.from_wkb(row["geometry"], on_invalid="ignore")
            landed[row["parcel_id"], row["updated_at"].timestamp()] = shape
    for path in (town.state / "landing/parcels/geojson").glob("*.geojson"):
        for feature in json.loads(path.read_text())["features"]:
            shape = shapely.from_geojson(json.dumps(feature["geometry"]), on_invalid="ignore")
            facts = feature["properties"]
            moment = (
                np.datetime64(facts["updated_at"].rstrip("Z")).astype("datetime64[ms]").astype(float) / 1000
            )
            landed[facts["parcel_id"], moment] = shape
    return landed


@pytest.mark.parametrize(
    ("places", "key", "activity"),
    [
        ("silver.parcels", "parcel_id", "gold.parcel_activity_daily"),
        ("silver.zones", "zone_id", "gold.zone_activity_daily"),
    ],
)
def test_activity_equals_every_event_against_every_shape(
    town: Town, places: str, key: str, activity: str
) -> None:
    shapes = town.rows(places, [key, "geometry"])
    events = town.rows("silver.telemetry", ["device_id", "geometry", "event_ts"])
    tree = shapely.STRtree(shapely.from_wkb([event["geometry"] for event in events]))
    expected: dict[tuple[str, Any], list[str]] = defaultdict(list)
    found = tree.query(shapely.from_wkb([shape["geometry"] for shape in shapes]), predicate="intersects")
    for shape, event in found.T:
        expected[shapes[shape][key], events[event]["event_ts"].date()].append(events[event]["device_id"])
    actual = {
        (row[key], row["event_date"]): (row["event_count"], row["device_count"])
        for row in town.rows(activity)
    }
    assert actual == {place: (len(devices), len(set(devices))) for place, devices in expected.items()}


def test_cells_at_every_resolution_equal_those_of_h3(town: Town) -> None:
    expected: dict[tuple[int, int, Any], list[str]] = defaultdict(list)
    for event in town.rows("silver.telemetry", ["device_id", "h3", "event_ts"]):
        for resolution in (7, 8, 9):
            cell = h3.str_to_int(h3.cell_to_parent(h3.int_to_str(event["h3"]), resolution))
            expected[cell, resolution, event["event_ts"].date()].append(event["device_id"])
    actual = {
        (row["h3"], row["resolution"], row["event_date"]): (row["event_count"], row["device_count"])
        for row in town.rows("gold.telemetry_by_cell")
    }
    assert actual == {cell: (len(devices), len(set(devices))) for cell, devices in expected.items()}


def test_the_nearest_facility_is_the_nearest_of_all(town: Town) -> None:
    facilities = town.rows("silver.facilities", ["facility_id", "geometry"])
    places = shapely.get_coordinates(shapely.from_wkb([facility["geometry"] for facility in facilities]))
    nearest = {row["parcel_id"]: row for row in town.rows("gold.nearest_facility")}
    parcels = town.rows("silver.parcels", ["parcel_id", "geometry"])
    assert nearest.keys() == {parcel["parcel_id"] for parcel in parcels}
    for parcel in parcels:
        shape = shapely.from_wkb(parcel["geometry"])
        row = nearest[parcel["parcel_id"]]
        # JTS and GEOS choose the same representative point; the distance is checked to a millimetre.
        point = shape.point_on_surface()
        origin = np.tile([point.x, point.y], (len(places), 1))
        metres = GEOD.inv(origin[:, 0], origin[:, 1], places[:, 0], places[:, 1])[2]
        assert row["distance_m"] == pytest.approx(metres.min(), abs=1e-3)
        chosen = next(
            i for i, facility in enumerate(facilities) if facility["facility_id"] == row["facility_id"]
        )
        assert metres[chosen] == pytest.approx(metres.min(), abs=1e-3)


def test_trips_have_their_length_and_duration(town: Town) -> None:
    trips = town.rows("gold.device_trips")
    assert trips
    positions: dict[tuple[str, Any], list[tuple[Any, str, bytes]]] = defaultdict(list)
    for event in town.rows("silver.telemetry", ["device_id", "event_id", "geometry", "event_ts"]):
        key = event["device_id"], event["event_ts"].date()
        positions[key].append((event["event_ts"], event["event_id"], event["geometry"]))
    expected = {}
    for (device, day), events in positions.items():
        trip: list[tuple[Any, str, bytes]] = []
        for event in [*sorted(events), None]:
            if trip and (event is None or (event[0] - trip[-1][0]).total_seconds() > 1800):
                if len(trip) > 1:
                    line = shapely.LineString(shapely.from_wkb([wkb for _, _, wkb in trip]))
                    expected[device, day, trip[0][0]] = (len(trip), trip[-1][0], line)
                trip = []
            if event is not None:
                trip.append(event)
    actual = {(row["device_id"], row["event_date"], row["started_ts"]): row for row in trips}
    assert actual.keys() == expected.keys()
    for key, (count, ended, line) in expected.items():
        row = actual[key]
        assert (row["event_count"], row["ended_ts"]) == (count, ended)
        assert shapely.from_wkb(row["geometry"]).equals_exact(line)
        assert row["length_m"] == pytest.approx(GEOD.geometry_length(line), abs=1e-3)
        assert row["duration_s"] == pytest.approx((ended - key[2]).total_seconds(), abs=1)
