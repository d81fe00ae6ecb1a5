"""Which parcels a drop holds, and in which version: numbers only, no geometry.

The state of day N follows from replaying the plans of the days before, which costs milliseconds, so
that no file has to be read again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from geostrata.demo import faults
from geostrata.demo.crs import UTM_33N, WEB_MERCATOR, WGS84
from geostrata.demo.drops import Tally
from geostrata.demo.errors import DemoError
from geostrata.demo.noise import Ints, below, shuffled, uniform
from geostrata.demo.policy import POLICY, day_start, scaled, share

# Format and CRS rotate by day.
_ROTATION = (("geoparquet", WGS84), ("geojson", UTM_33N), ("geoparquet", WEB_MERCATOR))


class Kind(IntEnum):
    REGULAR = 0
    DELETE = 1
    FAULTY = 2


@dataclass
class Rows:
    """The rows of a drop, in file order, one array a property."""

    number: Ints
    kind: Ints
    ts: Ints
    shape_day: Ints
    value_day: Ints
    # The position in the list of planted faults, or -1.
    fault: Ints

    def take(self, selection: slice | Ints) -> Rows:
        return Rows(*(getattr(self, field.name)[selection] for field in fields(self)))


@dataclass
class State:
    """What the newest valid version of each parcel is, keyed by the parcel's number."""

    alive: NDArray[np.bool_]
    last_day: Ints
    ts: Ints
    shape_day: Ints
    value_day: Ints

    @classmethod
    def empty(cls) -> State:
        none = np.zeros(0, dtype=np.int64)
        return cls(none.astype(bool), none, none, none, none)

    def grow(self, day: int, ts: Ints) -> None:
        zeros = np.zeros(len(ts), dtype=np.int64)
        self.alive = np.concatenate([self.alive, np.ones(len(ts), dtype=bool)])
        self.last_day = np.concatenate([self.last_day, zeros + day])
        self.ts = np.concatenate([self.ts, ts])
        self.shape_day = np.concatenate([self.shape_day, zeros])
        self.value_day = np.concatenate([self.value_day, zeros])


@dataclass(frozen=True)
class DayPlan:
    drop_format: str
    crs: str
    rows: Rows
    planted: list[faults.Planted]
    tally: Tally


def _times(seed: int, purpose: str, day: int, number: Ints) -> Ints:
    """Between 06:00 and 18:00, on every fourth second; the seconds between are for other kinds."""
    return day_start(day) + 6 * 3_600 + 4 * below(3 * 3_600, seed, purpose, day, number)


def check_capacity(scale: float, days: int) -> None:
    """Refuses a town that would grow beyond the extent."""
    needed = scaled(POLICY.parcels_initial, scale)
    needed += (days - 1) * scaled(POLICY.parcels_new_per_day, scale)
    if needed > POLICY.max_parcels:
        raise DemoError(
            f"{days} days at scale {scale:g} need {needed:,} parcels, but the town holds "
            f"{POLICY.max_parcels:,}: choose a smaller scale"
        )


def plan_day(state: State, seed: int, scale: float, day: int) -> DayPlan:
    """Plans the day's drop and moves the state on to it."""
    drop_format, crs = _ROTATION[(day - 1) % len(_ROTATION)]
    first = len(state.alive)
    born = POLICY.parcels_initial if day == 1 else POLICY.parcels_new_per_day
    new = np.arange(first, first + scaled(born, scale))

    late_at, late = _plan_out_of_order(state, seed, scale, day)
    rest = np.setdiff1d(np.flatnonzero(state.alive), late, assume_unique=True)
    rest = shuffled(rest, seed, "changes", day)
    updates = rest[: scaled(POLICY.parcels_updated_per_day, scale)] if day > 1 else rest[:0]
    rest = rest[len(updates) :]
    deletes = rest[: scaled(POLICY.parcels_deleted_per_day, scale)] if day > 1 else rest[:0]

    state.grow(day, _times(seed, "new", day, new))
    changed = np.concatenate([updates, deletes])
    state.ts[changed] = _times(seed, "change", day, changed)
    state.last_day[changed] = day
    state.alive[deletes] = False
    what = uniform(seed, "what changes", day, updates)
    # Half change their value, a quarter their shape, a quarter both.
    state.value_day[updates[what < 0.75]] = day
    state.shape_day[updates[what >= 0.5]] = day

    regular = np.concatenate([new, updates])
    per_fault = share(POLICY.parcel_fault_rate, len(regular))
    planted = faults.plan(faults.parcel_faults(drop_format, crs), per_fault, day)
    targets = shuffled(np.flatnonzero(state.alive), seed, "faulty", day)[: len(planted)]
    copies = share(POLICY.parcel_duplicate_rate, len(regular))
    duplicates = shuffled(regular, seed, "duplicate", day)[:copies]

    faulty_at = _times(seed, "faulty at", day, targets) + 2
    groups = [
        _group(state, regular),
        _group(state, deletes, kind=Kind.DELETE),
        # An old version with a value of its own.
        _group(state, late, ts=late_at, value_day=np.full(len(late), -day)),
    ]
    scattered = [
        _group(state, targets, kind=Kind.FAULTY, ts=faulty_at, fault=np.arange(len(targets))),
        _group(state, duplicates),
    ]
    rows = _in_file_order(seed, day, groups, scattered)

    tally = Tally(accepted=len(new) - len(deletes), superseded=len(updates) + len(deletes))
    tally.quarantine_all(planted)
    tally.supersede(faults.DUPLICATE, len(duplicates))
    tally.supersede(faults.DELETE, len(deletes))
    tally.supersede(faults.OUT_OF_ORDER, len(late))
    return DayPlan(drop_format, crs, rows, planted, tally)


def _plan_out_of_order(state: State, seed: int, scale: float, day: int) -> tuple[Ints, Ints]:
    """Versions that arrive after a newer one did: their times, and the (sorted) parcels."""
    recent = np.flatnonzero(state.alive & (state.last_day == day - 1))
    count = scaled(POLICY.parcels_out_of_order_per_day, scale)
    late = np.sort(shuffled(recent, seed, "out of order", day)[:count])
    # An odd second, another one each day: no two versions of a parcel share their time.
    return state.ts[late] - 3_601 - 2 * day, late


def _group(
    state: State,
    number: Ints,
    kind: Kind = Kind.REGULAR,
    ts: Ints | None = None,
    value_day: Ints | None = None,
    fault: Ints | None = None,
) -> Rows:
    """Rows of some parcels as they are now, but for what is given."""
    return Rows(
        number=number,
        kind=np.full(len(number), int(kind)),
        ts=state.ts[number] if ts is None else ts,
        shape_day=state.shape_day[number],
        value_day=state.value_day[number] if value_day is None else value_day,
        fault=np.full(len(number), -1) if fault is None else fault,
    )


def _in_file_order(seed: int, day: int, groups: list[Rows], scattered: list[Rows]) -> Rows:
    """By parcel; faulty rows and duplicates fall anywhere, far from their originals."""
    parts = groups + scattered
    rows = Rows(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Rows)))
    place = rows.number.astype(np.float64)
    first = sum(len(group.number) for group in groups)
    anywhere = uniform(seed, "place", day, np.arange(first, len(place)))
    place[first:] = anywhere * (rows.number.max() + 1)
    return rows.take(np.argsort(place, kind="stable"))
