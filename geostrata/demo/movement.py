"""How the devices move: several trips a day between places near their home.

A position follows from the device, the day and the number of the event alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geostrata.demo import crs as crss
from geostrata.demo.noise import Floats, Ints, below, spread, uniform
from geostrata.demo.policy import day_start
from geostrata.demo.town import Town

# On foot, by bicycle, by car: speed while moving, and how far from home at most (each way).
_SPEED_MPS = np.array([1.4, 4.5, 10.0])
_ROAM_M = np.array([800.0, 2_500.0, 5_000.0])
_MODE_UP_TO = np.array([0.2, 0.4])

# Trips keep to 05:00-23:00, one a slot of equal length. The longest takes 52 minutes and the
# shortest slot three hours, so the pause below always fits, and the day ends before midnight UTC.
_FIRST_HOUR, _HOURS = 5, 18
_MIN_TRIPS, _MAX_TRIPS = 3, 6
_PAUSE_S = 35 * 60
_MIN_TRIP_S = 180.0
# A trip starts and ends with a stay: events come from the place itself, not only from the way.
_LEAVE_AT, _ARRIVE_AT = 0.10, 0.85
_GPS_ERROR_M = 4.0


@dataclass(frozen=True)
class Fixes:
    """Positions of devices, one array a property."""

    device: Ints
    event_ms: Ints
    received_ms: Ints
    lon: Floats
    lat: Floats
    speed_mps: Floats
    battery_pct: Floats


def _stop(town: Town, device: Ints, day: int, stop: Ints, trips: Ints, roam: Floats) -> Floats:
    """Where the device is after so many trips: home at first and at last."""
    home = town.places("home", device)
    offset = np.column_stack([spread(town.seed, f"stop {axis}", device, day, stop) for axis in "xy"])
    away = (stop > 0) & (stop < trips)
    place = home + np.where(away[:, None], offset * roam[:, None], 0.0)
    return np.clip(place, town.centre - town.half_size_m, town.centre + town.half_size_m)


def fixes(town: Town, day: int, event: Ints, per_device: int, moment: float) -> Fixes:
    """The positions of a day's events by number; `moment` in (0, 1) is the place in an event's
    own time step, so that extra events do not coincide with regular ones."""
    seed = town.seed
    device, nth = np.divmod(event, per_device)
    trips = _MIN_TRIPS + below(_MAX_TRIPS - _MIN_TRIPS + 1, seed, "trips", device, day)
    trip = nth * trips // per_device
    first = -(-trip * per_device // trips)
    after = -(-(trip + 1) * per_device // trips)
    passed = (nth - first + moment) / (after - first)

    mode = np.searchsorted(_MODE_UP_TO, uniform(seed, "mode", device), side="right")
    start = _stop(town, device, day, trip, trips, _ROAM_M[mode])
    end = _stop(town, device, day, trip + 1, trips, _ROAM_M[mode])
    legs = np.abs(end - start)
    length = legs.sum(axis=1)
    moving = _ARRIVE_AT - _LEAVE_AT
    duration = np.maximum(_MIN_TRIP_S, length / _SPEED_MPS[mode] / moving)

    slot = _HOURS * 3_600 / trips
    wait = uniform(seed, "wait", device, day, trip) * (slot - duration - _PAUSE_S)
    seconds = _FIRST_HOUR * 3_600 + trip * slot + wait + passed * duration
    event_ms = day_start(day) * 1_000 + np.round(seconds * 1_000).astype(np.int64)

    # Along the streets: first east or west, then north or south.
    done = np.clip((passed - _LEAVE_AT) / moving, 0.0, 1.0) * length
    way = np.column_stack([np.minimum(done, legs[:, 0]), np.maximum(done - legs[:, 0], 0.0)])
    error = [spread(seed, f"gps {axis}", event, day, event_ms) for axis in "xy"]
    place = start + np.sign(end - start) * way + np.column_stack(error) * _GPS_ERROR_M
    degrees = crss.convert(place, crss.UTM_33N, crss.WGS84)

    is_moving = (passed > _LEAVE_AT) & (passed < _ARRIVE_AT)
    pace = length / (duration * moving) * (1 + 0.2 * spread(seed, "pace", event, day))
    delay = below(120_000, seed, "delay", event, day, event_ms)
    charge = 100 - 55 * (nth + moment) / per_device - 10 * uniform(seed, "battery", device, day)
    return Fixes(
        device=device,
        event_ms=event_ms,
        received_ms=event_ms + 1_000 + delay,
        lon=degrees[:, 0],
        lat=degrees[:, 1],
        speed_mps=np.where(is_moving, pace, 0.0),
        battery_pct=charge,
    )
