"""The demo's policy values: how much of what is generated, and how often it is faulty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True)
class Policy:
    """Counts are for scale 1; rates are shares of a drop's regular rows."""

    first_day: datetime = datetime(2026, 3, 2, tzinfo=UTC)
    default_days: int = 3
    # Four digits in the file names, and timestamps of out-of-order rows that stay distinct.
    max_day: int = 9_999
    # Below this there would be too few rows to hold every kind of fault.
    min_scale: float = 0.01

    centre_lon: float = 15.6
    centre_lat: float = 48.2
    # A town of this many parcels still lies inside the extent lon [14, 17], lat [47, 49.5].
    max_parcels: int = 12_000_000

    parcels_initial: int = 17_000
    parcels_new_per_day: int = 1_500
    parcels_updated_per_day: int = 1_400
    parcels_deleted_per_day: int = 150
    parcels_out_of_order_per_day: int = 40
    parcel_fault_rate: float = 0.000_8
    parcel_duplicate_rate: float = 0.004

    telemetry_lines_per_day: int = 100_000
    devices: int = 300
    min_devices: int = 5
    telemetry_fault_rate: float = 0.000_5
    telemetry_duplicate_rate: float = 0.001
    telemetry_late_rate: float = 0.001

    # Zones and facilities do not shrink below scale 1 and grow with the square root above it.
    zones: int = 200
    zones_update_share: float = 0.1
    zone_fault_rate: float = 0.005
    facilities: int = 300
    facility_fault_rate: float = 0.007
    small_duplicates: int = 3

    # GeoJSON is read one row a file, so its parts stay small.
    geojson_part_rows: int = 5_000
    parquet_part_rows: int = 100_000
    jsonl_part_rows: int = 100_000


POLICY = Policy()


def scaled(count: int, scale: float) -> int:
    """A count that grows with the scale."""
    return max(1, round(count * max(scale, POLICY.min_scale)))


def scaled_by_root(count: int, scale: float) -> int:
    """A count that keeps its size up to scale 1 and grows with the square root above."""
    return round(count * math.sqrt(max(scale, 1.0)))


def share(rate: float, rows: int) -> int:
    """How many rows a rate plants among so many; never none."""
    return max(1, round(rate * rows))


def day_start(day: int) -> int:
    """The first second of a demo day, in Unix time."""
    return int((POLICY.first_day + timedelta(days=day - 1)).timestamp())
