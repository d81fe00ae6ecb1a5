"""The manifest against the files: every rule evaluated again from scratch, the slow, simple way.

Nothing of the generator is used here but the call that makes the landing.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pyproj
import pytest
import shapely

from geostrata import demo

EXTENT = (14.0, 47.0, 17.0, 49.5)
BOUNDS = {
    "EPSG:4326": (-180.0, -90.0, 180.0, 90.0),
    "EPSG:3857": (-20037508.35, -20037508.35, 20037508.35, 20037508.35),
    "EPSG:32633": (100_000.0, 0.0, 900_000.0, 9_400_000.0),
}
TO_WGS84 = {crs: pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True).transform for crs in BOUNDS}
FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)


@dataclass
class Landed:
    """A row as read: what the rules need of it."""

    key: str | None
    ts: datetime | None
    day: int
    crs: str | None = "EPSG:4326"
    geometry: Any = None
    is_geometry_present: bool = True
    is_readable: bool = True
    is_deleted: bool = False
    received: datetime | None = None
    payload: str = ""
    failed: list[str] = field(default_factory=list)


def moment(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text)


def day_of(path: Path) -> int:
    return int(path.stem.split("day_")[1][:4])


def read_geoparquet(path: Path, key: str) -> list[Landed]:
    rows = []
    for record in pq.read_table(path).to_pylist():
        wkb = record.pop("geometry")
        geometry = None
        if wkb is not None:
            geometry = shapely.from_wkb(np.array([wkb], dtype=object), on_invalid="ignore")[0]
        rows.append(
            Landed(
                key=record[key],
                ts=record["updated_at"],
                day=day_of(path),
                crs=record["crs"],
                geometry=geometry,
                is_geometry_present=wkb is not None,
                is_deleted=record.get("is_deleted", False),
                payload=f"{record} {wkb!r}",
            )
        )
    return rows


def read_geojson(path: Path) -> list[Landed]:
    rows = []
    for feature in json.loads(path.read_text())["features"]:
        properties, shape = feature["properties"], feature["geometry"]
        geometry = None
        if shape is not None:
            text = np.array([json.dumps(shape)], dtype=object)
            geometry = shapely.from_geojson(text, on_invalid="ignore")[0]
        rows.append(
            Landed(
                key=properties["parcel_id"],
                ts=moment(properties["updated_at"]),
                day=day_of(path),
                crs=properties["crs"],
                geometry=geometry,
                is_geometry_present=shape is not None,
                is_deleted=properties["is_deleted"],
                payload=json.dumps(feature),
            )
        )
    return rows


def point(lon: float | None, lat: float | None) -> Any:
    return None if lon is None or lat is None else shapely.Point(lon, lat)


def read_jsonl(path: Path) -> list[Landed]:
    rows = []
    for line in path.read_text().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            rows.append(Landed(None, None, day_of(path), is_readable=False))
            continue
        geometry = point(record["lon"], record["lat"])
        rows.append(
            Landed(
                key=record["event_id"],
                ts=moment(record["event_ts"]),
                day=day_of(path),
                geometry=geometry,
                is_geometry_present=geometry is not None,
                received=moment(record["received_ts"]),
                payload=line,
            )
        )
    return rows


def read_csv(path: Path) -> list[Landed]:
    rows = []
    with path.open(newline="") as file:
        for record in csv.DictReader(file):
            lon, lat = (float(record[name]) if record[name] else None for name in ("lon", "lat"))
            geometry = point(lon, lat)
            rows.append(
                Landed(
                    key=record["facility_id"] or None,
                    ts=moment(record["updated_at"]),
                    day=day_of(path),
                    crs=record["crs"] or None,
                    geometry=geometry,
                    is_geometry_present=geometry is not None,
                    payload=str(record),
                )
            )
    return rows


def is_inside(bounds: tuple[float, ...], limits: tuple[float, ...]) -> bool:
    west, south, east, north = bounds
    return limits[0] <= west <= east <= limits[2] and limits[1] <= south <= north <= limits[3]


def in_degrees(row: Landed) -> Any:
    assert row.crs is not None
    transform = TO_WGS84[row.crs]
    return shapely.transform(row.geometry, lambda xy: np.column_stack(transform(xy[:, 0], xy[:, 1])))


def failures(row: Landed, types: set[str]) -> list[str]:
    """The quarantine expectations in order; what cannot be asked any more is skipped."""
    if not row.is_readable:
        return ["record_readable"]
    failed = []
    if row.key is None or not row.key.strip():
        failed.append("key_present")
    if not row.is_geometry_present:
        failed.append("geometry_present")
    elif row.geometry is None:
        failed.append("geometry_readable")
    elif row.geometry.is_empty:
        failed.append("geometry_not_empty")
    else:
        if row.geometry.geom_type not in types:
            failed.append("geometry_type_allowed")
        if not row.geometry.is_valid:
            failed.append("geometry_valid")
    if row.crs not in BOUNDS:
        failed.append("crs_known")
    elif row.geometry is not None and not row.geometry.is_empty:
        if not is_inside(row.geometry.bounds, BOUNDS[row.crs]):
            failed.append("coordinates_within_crs")
        elif not is_inside(in_degrees(row).bounds, EXTENT):
            failed.append("within_extent")
    assert row.ts is not None
    if row.ts > FIRST_DAY + timedelta(days=row.day - 1 + 30):
        failed.append("event_ts_sane")
    return failed


SCALE, DAYS = 0.02, 5


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("landing")
    demo.generate(out, scale=SCALE, seed=7, days=DAYS)
    return out


@pytest.fixture(scope="module")
def manifest(landing: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((landing / "manifest.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def landed(landing: Path) -> dict[str, list[Landed]]:
    rows: dict[str, list[Landed]] = defaultdict(list)
    for path in sorted(landing.glob("parcels/geoparquet/*")):
        rows["parcels"] += read_geoparquet(path, "parcel_id")
    for path in sorted(landing.glob("parcels/geojson/*")):
        rows["parcels"] += read_geojson(path)
    for path in sorted(landing.glob("zones/*")):
        rows["zones"] += read_geoparquet(path, "zone_id")
    for path in sorted(landing.glob("telemetry/*")):
        rows["telemetry"] += read_jsonl(path)
    for path in sorted(landing.glob("facilities/*")):
        rows["facilities"] += read_csv(path)
    polygons = {"Polygon", "MultiPolygon"}
    for entity, of_entity in rows.items():
        types = polygons if entity in ("parcels", "zones") else {"Point"}
        for row in of_entity:
            row.failed = failures(row, types)
    return rows


def by_key(rows: list[Landed]) -> dict[str, list[Landed]]:
    keys = defaultdict(list)
    for row in rows:
        if not row.failed:
            assert row.key is not None
            keys[row.key].append(row)
    return keys


def newest(versions: list[Landed]) -> datetime:
    return max(row.ts for row in versions if row.ts)


ENTITIES = ("parcels", "telemetry", "zones", "facilities")


@pytest.mark.parametrize("entity", ENTITIES)
def test_counts_follow_from_the_files(
    entity: str, landed: dict[str, list[Landed]], manifest: dict[str, Any]
) -> None:
    rows, expected = landed[entity], manifest["entities"][entity]
    keys = by_key(rows)
    accepted = 0
    for versions in keys.values():
        last = [row for row in versions if row.ts == newest(versions)]
        accepted += not last[0].is_deleted
    valid = sum(len(versions) for versions in keys.values())
    assert expected["landed"] == len(rows)
    assert expected["quarantined"] == sum(bool(row.failed) for row in rows)
    assert expected["accepted"] == accepted
    assert expected["superseded"] == valid - accepted
    assert expected["landed"] == sum(expected[name] for name in ("accepted", "quarantined", "superseded"))


@pytest.mark.parametrize("entity", ENTITIES)
def test_each_faulty_row_fails_one_expectation(
    entity: str, landed: dict[str, list[Landed]], manifest: dict[str, Any]
) -> None:
    assert all(len(row.failed) <= 1 for row in landed[entity])
    failed = Counter(name for row in landed[entity] for name in row.failed)
    assert dict(failed) == manifest["entities"][entity]["expectations"]


@pytest.mark.parametrize("entity", ENTITIES)
def test_kinds_that_supersede_follow_from_the_files(
    entity: str, landed: dict[str, list[Landed]], manifest: dict[str, Any]
) -> None:
    """Duplicates share key, time and content; no two other versions of a key share their time."""
    found: Counter[str] = Counter()
    for versions in by_key(landed[entity]).values():
        contents = defaultdict(list)
        for row in versions:
            contents[row.ts].append(row)
        for same_time in contents.values():
            assert len({row.payload for row in same_time}) == 1
            found["duplicate"] += len(same_time) - 1
        found["delete"] += sum(row.is_deleted for row in versions)
        for row in versions:
            before = [other.ts for other in versions if other.day < row.day and other.ts]
            if entity == "parcels" and before and row.ts and row.ts < max(before):
                found["out_of_order"] += 1
    faults = manifest["entities"][entity]["faults"]
    for kind in ("duplicate", "delete", "out_of_order"):
        assert found[kind] == faults.get(kind, 0), kind


# Where one expectation speaks of one kind of fault only.
FAULT_OF = {
    "record_readable": "truncated_json",
    "key_present": "missing_key",
    "geometry_present": "null_geometry",
    "geometry_not_empty": "empty_geometry",
    "geometry_type_allowed": "wrong_type",
    "geometry_valid": "invalid_ring",
    "crs_known": "unknown_crs",
    "within_extent": "swapped_coordinates",
    "event_ts_sane": "future_timestamp",
}


def fault_of(entity: str, row: Landed) -> str:
    """The kind of a quarantined row, by how it looks."""
    (expectation,) = row.failed
    if expectation == "geometry_readable":
        is_geojson = entity == "parcels" and row.day % 3 == 2
        return "malformed_geojson_geometry" if is_geojson else "malformed_wkb"
    if expectation == "coordinates_within_crs":
        # In town after all, were it declared rightly?
        others = [replace(row, crs=crs) for crs in BOUNDS if is_inside(row.geometry.bounds, BOUNDS[crs])]
        is_in_town = any(is_inside(in_degrees(other).bounds, EXTENT) for other in others)
        return "wrong_crs" if is_in_town else "out_of_range_coordinates"
    return FAULT_OF[expectation]


@pytest.mark.parametrize("entity", ENTITIES)
def test_faults_follow_from_the_files(
    entity: str, landed: dict[str, list[Landed]], manifest: dict[str, Any]
) -> None:
    found = Counter(fault_of(entity, row) for row in landed[entity] if row.failed)
    faults = dict(manifest["entities"][entity]["faults"])
    for kind in ("duplicate", "delete", "out_of_order", "late_event"):
        faults.pop(kind, None)
    assert dict(found) == faults


def test_late_events_follow_from_the_files(landed: dict[str, list[Landed]], manifest: dict[str, Any]) -> None:
    late = 0
    keys = by_key(landed["telemetry"])
    for versions in keys.values():
        row = min(versions, key=lambda version: version.day)
        assert row.ts and row.received
        start = FIRST_DAY + timedelta(days=row.day - 1)
        assert start <= row.received < start + timedelta(days=1)
        if row.ts < row.received - timedelta(hours=24):
            late += 1
            assert len(versions) == 1
            assert timedelta(hours=36) <= start - row.ts <= timedelta(days=3)
        else:
            assert start <= row.ts <= row.received
    expected = manifest["entities"]["telemetry"]
    assert late == expected["warnings"]["on_time"] == expected["faults"]["late_event"]


def test_on_time_holds_for_quarantined_events(landed: dict[str, list[Landed]]) -> None:
    for row in landed["telemetry"]:
        if row.failed and row.is_readable:
            assert row.ts and row.received and row.ts >= row.received - timedelta(hours=24)


def test_files_are_listed_with_their_rows(landing: Path, manifest: dict[str, Any]) -> None:
    rows = {}
    for path in landing.rglob("*.*"):
        name = str(path.relative_to(landing))
        if path.suffix == ".parquet":
            rows[name] = pq.read_metadata(path).num_rows
        elif path.suffix == ".geojson":
            rows[name] = len(json.loads(path.read_text())["features"])
        elif path.suffix == ".jsonl":
            rows[name] = len(path.read_text().splitlines())
        elif path.suffix == ".csv":
            rows[name] = len(path.read_text().splitlines()) - 1
    assert rows == manifest["files"]
    assert manifest["days"] == list(range(1, DAYS + 1))


def test_a_valid_parcel_is_valid_in_degrees(landed: dict[str, list[Landed]]) -> None:
    for row in landed["parcels"]:
        if not row.failed:
            degrees = in_degrees(row)
            assert degrees.is_valid
            assert shapely.set_precision(degrees, 0).geom_type == "Polygon"
            assert 5 <= len(degrees.exterior.coords) <= 13
