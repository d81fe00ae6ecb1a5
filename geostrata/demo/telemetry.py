"""Telemetry: the devices' positions as JSON lines, with late, repeated and malformed events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from geostrata.demo.drops import Drop, Part, Tally
from geostrata.demo.faults import DUPLICATE, LATE_EVENT, TELEMETRY_FAULTS
from geostrata.demo.movement import Fixes, fixes
from geostrata.demo.noise import Ints, uniform
from geostrata.demo.policy import POLICY, scaled, share
from geostrata.demo.spoiling import future, missing_key
from geostrata.demo.town import Town
from geostrata.demo.writing import iso, write_lines

# Events wait three days in a device that found no network: 49 to 67 hours before the file's day.
_LATE_DAYS = 3
# Regular events come at the middle of their time step; those that are extra at other moments.
_REGULAR, _FAULTY, _LATE = 0.5, 0.7, 0.9
# When a repeated event comes again; it only decides the line's place in the file.
_REPEAT_MS = 600_000


@dataclass(frozen=True)
class Volume:
    """How many lines of each kind a day has; the same every day."""

    lines: int
    regular: int
    each_fault: int
    duplicates: int
    late: int
    per_device: int
    parts: int

    @classmethod
    def at(cls, scale: float) -> Volume:
        lines = scaled(POLICY.telemetry_lines_per_day, scale)
        each_fault = share(POLICY.telemetry_fault_rate, lines)
        # Two at least: one of the same day, one of the day before.
        duplicates = max(2, share(POLICY.telemetry_duplicate_rate, lines))
        late = share(POLICY.telemetry_late_rate, lines)
        regular = lines - each_fault * len(TELEMETRY_FAULTS) - duplicates - late
        devices = max(POLICY.min_devices, scaled(POLICY.devices, scale))
        # A little below the limit where there are several: extra lines do not divide evenly.
        limit = POLICY.jsonl_part_rows
        parts = 1 if lines <= limit else -(-lines // (limit - limit // 100))
        return cls(lines, regular, each_fault, duplicates, late, -(-regular // devices), parts)

    def slice_of(self, count: int, part: int) -> range:
        """Which of so many rows go into a part."""
        return range(count * part // self.parts, count * (part + 1) // self.parts)


def drop(town: Town, scale: float, day: int) -> Drop:
    volume = Volume.at(scale)
    tally = Tally(accepted=volume.regular)
    for fault in TELEMETRY_FAULTS:
        tally.quarantine(fault, volume.each_fault)
    tally.supersede(DUPLICATE, volume.duplicates)
    tally.warn_late(volume.late)
    return Drop("telemetry", tally, _parts(town, volume, day))


def _parts(town: Town, volume: Volume, day: int) -> Iterator[Part]:
    for part in range(volume.parts):
        rows = len(volume.slice_of(volume.regular, part))
        rows += len(volume.slice_of(volume.each_fault, part)) * len(TELEMETRY_FAULTS)
        rows += len(volume.slice_of(volume.duplicates, part))
        rows += len(volume.slice_of(volume.late, part))
        path = f"telemetry/day_{day:04d}_part_{part:03d}.jsonl"
        yield Part(path, rows, partial(_write, town, volume, day, part))


def _write(town: Town, volume: Volume, day: int, part: int, path: Path) -> None:
    """A part is what one gateway sent: some of the devices, in the order of receipt."""
    here = volume.slice_of(volume.regular, part)
    regular = np.arange(here.start, here.stop)
    moved = fixes(town, day, regular, volume.per_device, _REGULAR)
    lines = _lines(_ids(day, regular), moved)
    received = moved.received_ms.tolist()

    def add(extra: list[str], at: Ints) -> None:
        lines.extend(extra)
        received.extend(at.tolist())

    add(*_duplicates(town, volume, day, part))
    for fault in TELEMETRY_FAULTS:
        add(*_faulty(town, volume, day, part, fault))
    add(*_late(town, volume, day, part))
    order = np.argsort(np.array(received), kind="stable")
    write_lines(path, [lines[position] for position in order.tolist()])


def _ids(day: int, event: Ints) -> list[str]:
    return [f"E{day:04d}-{number:09d}" for number in event.tolist()]


def _lines(ids: list[str], moved: Fixes) -> list[str]:
    columns = zip(
        ids,
        moved.device.tolist(),
        iso(moved.event_ms, "ms"),
        iso(moved.received_ms, "ms"),
        moved.lon.tolist(),
        moved.lat.tolist(),
        moved.speed_mps.tolist(),
        moved.battery_pct.tolist(),
        strict=True,
    )
    # json.dumps a line would take several times as long; nothing here needs escaping.
    form = (
        '{"event_id":"%s","device_id":"D%06d","event_ts":"%s","received_ts":"%s",'
        '"lon":%.7f,"lat":%.7f,"speed_mps":%.2f,"battery_pct":%.1f}'
    )
    return [form % values for values in columns]


def _beside(town: Town, here: range, day: int, kind: str, count: int) -> Ints:
    """Distinct regular events of a part, spread over it, to repeat or to put extra ones beside."""
    step = np.arange(count) + uniform(town.seed, f"beside {kind}", day, here.start, np.arange(count))
    return here.start + (step * len(here) / max(1, count)).astype(np.int64)


def _duplicates(town: Town, volume: Volume, day: int, part: int) -> tuple[list[str], Ints]:
    """Events sent twice, word for word: of the same day, or of the day before."""
    here = volume.slice_of(volume.regular, part)
    count = len(volume.slice_of(volume.duplicates, part))
    chosen = _beside(town, here, day, DUPLICATE, count)
    of_day_before = (np.arange(count) % 2 == 1) & (day > 1)
    lines: list[str] = []
    again_at = []
    for of_day, events in ((day - 1, chosen[of_day_before]), (day, chosen[~of_day_before])):
        moved = fixes(town, of_day, events, volume.per_device, _REGULAR)
        lines += _lines(_ids(of_day, events), moved)
        again_at.append(moved.received_ms + (day - of_day) * 86_400_000 + _REPEAT_MS)
    return lines, np.concatenate(again_at)


def _late(town: Town, volume: Volume, day: int, part: int) -> tuple[list[str], Ints]:
    which = volume.slice_of(volume.late, part)
    here = volume.slice_of(volume.regular, part)
    events = _beside(town, here, day, LATE_EVENT, len(which))
    moved = fixes(town, day - _LATE_DAYS, events, volume.per_device, _LATE)
    at = moved.event_ms + _LATE_DAYS * 86_400_000
    ids = [f"L{day:04d}-{number:09d}" for number in which]
    return _lines(ids, replace(moved, received_ms=at)), at


def _faulty(town: Town, volume: Volume, day: int, part: int, fault: str) -> tuple[list[str], Ints]:
    """Half of them have an id of their own, half that of a sound event."""
    which = volume.slice_of(volume.each_fault, part)
    here = volume.slice_of(volume.regular, part)
    events = _beside(town, here, day, fault, len(which))
    moved = fixes(town, day, events, volume.per_device, _FAULTY)
    code = TELEMETRY_FAULTS.index(fault)
    ids = [
        f"F{day:04d}-{code:02d}{number:07d}" if (number + code) % 2 == 0 else known
        for number, known in zip(which, _ids(day, events), strict=True)
    ]
    sound = zip(which, _lines(ids, moved), strict=True)
    return [_spoil(line, fault, number + day) for number, line in sound], moved.received_ms


def _spoil(line: str, fault: str, variant: int) -> str:
    """The line with one thing wrong."""
    if fault == "truncated_json":
        return line[: len(line) * (3 + variant % 5) // 10]
    record = json.loads(line)
    match fault:
        case "missing_key":
            record["event_id"] = missing_key(variant)
        case "null_geometry":
            for name in (("lon",), ("lat",), ("lon", "lat"))[variant % 3]:
                record[name] = None
        case "out_of_range_coordinates":
            name, step = (("lon", 185), ("lat", 47))[variant % 2]
            record[name] = round(record[name] + step, 7)
        case "swapped_coordinates":
            record["lon"], record["lat"] = record["lat"], record["lon"]
        case "future_timestamp":
            record["event_ts"] = iso([future(variant)])[0]
        case unknown:
            raise ValueError(f"no way to plant the fault {unknown}")
    return json.dumps(record, separators=(",", ":"))
