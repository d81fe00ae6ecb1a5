"""Facilities: points in a CSV file."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import numpy as np
import shapely

from geostrata.demo import crs as crss
from geostrata.demo import faults
from geostrata.demo.drops import Drop, Part, Tally
from geostrata.demo.noise import below
from geostrata.demo.policy import POLICY, day_start, scaled_by_root, share
from geostrata.demo.spoiling import Row, spoil
from geostrata.demo.town import Town
from geostrata.demo.writing import iso

_TYPES = ("school", "clinic", "fire_station", "pharmacy", "library", "bus_depot")
_PLACES = ("North", "South", "East", "West", "Old Town", "Riverside", "Hill", "Market, Upper")
_HEADER = ("facility_id", "facility_name", "facility_type", "lon", "lat", "crs", "updated_at")


def drop(town: Town, scale: float, day: int) -> Drop | None:
    """All facilities on day 1."""
    if day != 1:
        return None
    count = scaled_by_root(POLICY.facilities, scale)
    planted = faults.plan(faults.FACILITY_FAULTS, share(POLICY.facility_fault_rate, count), day)
    copies = POLICY.small_duplicates
    tally = Tally(accepted=count)
    tally.quarantine_all(planted)
    tally.supersede(faults.DUPLICATE, copies)
    path = f"facilities/facilities_day_{day:04d}.csv"
    part = Part(path, count + len(planted) + copies, partial(_write, town, day, count, planted))
    return Drop("facilities", tally, iter([part]))


def _write(town: Town, day: int, count: int, planted: list[faults.Planted], path: Path) -> None:
    """Sound rows, then copies of the first ones, then the faulty ones."""
    copies = POLICY.small_duplicates
    number = np.concatenate([np.arange(count), np.arange(copies), (np.arange(len(planted)) + copies) % count])
    places = crss.convert(town.places("facility", number), crss.UTM_33N, crss.WGS84)
    kinds = below(len(_TYPES), town.seed, "facility type", number).tolist()
    names = below(len(_PLACES), town.seed, "facility name", number).tolist()
    ts = day_start(day) + 6 * 3_600 + 4 * below(10_800, town.seed, "facility at", day, number)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADER)
        for position, facility in enumerate(number.tolist()):
            point = shapely.Point(places[position])
            row = Row(f"F{facility:05d}", point, crss.WGS84, int(ts[position]))
            nth = position - count - copies
            fault = planted[nth] if nth >= 0 else None
            row = _spoil(row, fault, day) if fault else row
            lon, lat = _texts(row, fault)
            kind = _TYPES[kinds[position]]
            name = f"{_PLACES[names[position]]} {kind.replace('_', ' ')} {facility + 1}"
            updated_at = iso([row.ts])[0]
            writer.writerow([row.key, name, kind, lon, lat, row.crs, updated_at])


def _spoil(row: Row, planted: faults.Planted, day: int) -> Row:
    key = f"FF{day:04d}{planted.ordinal:04d}" if planted.has_own_key else row.key
    sound = Row(key, row.geometry, row.crs, row.ts + 2)
    # A point is two columns here: what is left out of them is decided when they are written.
    return sound if planted.fault == "null_geometry" else spoil(sound, planted, crss.WGS84)


def _texts(row: Row, planted: faults.Planted | None) -> tuple[str, str]:
    """Longitude and latitude as written."""
    lon, lat = f"{row.geometry.x:.7f}", f"{row.geometry.y:.7f}"
    if planted is not None and planted.fault == "null_geometry":
        return (("", lat), (lon, ""), ("", ""))[planted.variant % 3]
    return lon, lat
