"""Zones: few, large polygons of many vertices, some with a hole or in two pieces."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from geostrata.demo import crs as crss
from geostrata.demo import faults
from geostrata.demo.drops import Drop, Part, Tally
from geostrata.demo.noise import Floats, Ints, below, shuffled, uniform
from geostrata.demo.policy import POLICY, day_start, scaled_by_root, share
from geostrata.demo.spoiling import Row, spoil
from geostrata.demo.town import Town
from geostrata.demo.writing import encode_wkb, timestamps, write_geoparquet

# The day on which a part of the zones comes again, changed.
UPDATE_DAY = 3
_TYPES = ("school_district", "flood_plain", "low_emission", "planning", "heritage")
_MIN_VERTICES, _MAX_VERTICES = 300, 3_000
# The smallest keeps vertices well apart against the rounding; the largest stays in the extent.
_MIN_RADIUS_M, _MAX_RADIUS_M = 150.0, 6_000.0
_WAVES = np.array([2, 3, 5, 9, 17, 31])
_WAVE_HEIGHTS = np.array([0.16, 0.12, 0.08, 0.05, 0.03, 0.02])


def drop(town: Town, scale: float, day: int) -> Drop | None:
    """All zones on day 1, some of them changed on day 3, else nothing."""
    count = scaled_by_root(POLICY.zones, scale)
    numbers = np.arange(count)
    tally = Tally()
    if day == 1:
        tally.accepted = count
    elif day == UPDATE_DAY:
        changed = share(POLICY.zones_update_share, count)
        numbers = np.sort(shuffled(numbers, town.seed, "zone updates")[:changed])
        tally.superseded = len(numbers)
    else:
        return None
    planted = faults.plan(faults.ZONE_FAULTS, share(POLICY.zone_fault_rate, len(numbers)), day)
    copies = numbers[:: max(1, len(numbers) // POLICY.small_duplicates)][: POLICY.small_duplicates]
    tally.quarantine_all(planted)
    tally.supersede(faults.DUPLICATE, len(copies))
    path = f"zones/zones_day_{day:04d}.parquet"
    rows = len(numbers) + len(planted) + len(copies)
    part = Part(path, rows, partial(_write, town, day, numbers, copies, planted))
    return Drop("zones", tally, iter([part]))


def _write(
    town: Town,
    day: int,
    numbers: Ints,
    copies: Ints,
    planted: list[faults.Planted],
    path: Path,
) -> None:
    """Sound rows, then copies of some, then the faulty ones."""
    targets = numbers[np.arange(len(planted)) % len(numbers)]
    number = np.concatenate([numbers, copies, targets])
    geometries = np.array([polygon(town, int(zone), day) for zone in number], dtype=object)
    keys: list[str | None] = [f"Z{zone:05d}" for zone in number]
    crs: list[str | None] = [crss.WGS84] * len(number)
    # As for parcels: sound versions on every fourth second, faulty ones between.
    ts = day_start(day) + 6 * 3_600 + 4 * below(10_800, town.seed, "zone at", day, number)
    raw: dict[int, Any] = {}
    for position, each in enumerate(planted, start=len(numbers) + len(copies)):
        key = f"ZF{day:04d}{each.ordinal:04d}" if each.has_own_key else keys[position]
        sound = Row(key, geometries[position], crss.WGS84, int(ts[position]) + 2)
        faulty = spoil(sound, each, crss.WGS84)
        keys[position], crs[position], ts[position] = faulty.key, faulty.crs, faulty.ts
        geometries[position] = faulty.geometry
        if faulty.raw is not None:
            raw[position] = faulty.raw
    kinds = [_TYPES[kind] for kind in below(len(_TYPES), town.seed, "zone type", number)]
    columns = {
        "zone_id": pa.array(keys, type=pa.string()),
        "zone_name": pa.array([f"Zone {zone + 1}" for zone in number], type=pa.string()),
        "zone_type": pa.array(kinds, type=pa.string()),
        "population": pa.array(200 + below(20_000, town.seed, "population", day, number)).cast(pa.int32()),
        "updated_at": timestamps(ts),
        "crs": pa.array(crs, type=pa.string()),
        "geometry": encode_wkb(geometries, raw),
    }
    write_geoparquet(path, columns, geometries, crss.WGS84)


def _outline(town: Town, zone: int, day: int, piece: int, vertices: int) -> Floats:
    """A ring around (0, 0) of mean radius 1; one distance an angle, so it cannot cross itself."""
    angle = np.linspace(0.0, 2 * np.pi, vertices, endpoint=False)
    keys = (zone, day, piece, np.arange(len(_WAVES)))
    height = _WAVE_HEIGHTS * uniform(town.seed, "wave height", *keys)
    phase = 2 * np.pi * uniform(town.seed, "wave phase", *keys)
    distance = 1 + (height * np.sin(angle[:, None] * _WAVES + phase)).sum(axis=1)
    ring: Floats = np.column_stack([np.cos(angle), np.sin(angle)]) * distance[:, None]
    return ring


def polygon(town: Town, zone: int, day: int) -> Any:
    """The zone's shape as of a day, in degrees."""
    size, extra, amount = uniform(town.seed, "zone shape", zone, np.arange(3))
    radius = float(np.clip((0.06 + 0.24 * size) * town.half_size_m.min(), _MIN_RADIUS_M, _MAX_RADIUS_M))
    # Few have very many vertices.
    vertices = int(_MIN_VERTICES + (_MAX_VERTICES - _MIN_VERTICES) * amount**2)
    centre = town.places("zone", zone)[0]

    def ring(outline: Floats) -> Floats:
        return crss.convert(outline, crss.UTM_33N, crss.WGS84)

    if extra < 0.1:
        # The waves add at most 0.46, so pieces three radii apart cannot touch.
        halves = [_outline(town, zone, day, piece, vertices // 2) for piece in range(2)]
        apart = np.array([3 * radius, 0.0])
        shells = [ring(centre + half * radius + piece * apart) for piece, half in enumerate(halves)]
        return shapely.MultiPolygon([shapely.Polygon(shell) for shell in shells])
    if extra < 0.25:
        outline = _outline(town, zone, day, 0, vertices // 2)
        # The same outline at less than half the size lies inside by construction.
        return shapely.Polygon(ring(centre + outline * radius), [ring(centre + outline[::-1] * radius * 0.4)])
    return shapely.Polygon(ring(centre + _outline(town, zone, day, 0, vertices) * radius))
