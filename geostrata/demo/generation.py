"""Generating a landing folder: day by day, file by file, resumable."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from geostrata.demo import facilities, manifest, parcels, telemetry, zones
from geostrata.demo.drops import Drop
from geostrata.demo.errors import DemoError
from geostrata.demo.manifest import Manifest
from geostrata.demo.parcel_plan import DayPlan, State, check_capacity, plan_day
from geostrata.demo.policy import POLICY, scaled
from geostrata.demo.town import Town
from geostrata.demo.writing import write_atomically

# Called after each file with its path and rows.
Progress = Callable[[str, int], None]

# Exists only while a generation runs, or after one was killed: then it says with which arguments,
# so that the files already there are known to be the same and are kept, modification times too.
_MARKER = ".generating.json"


def generate(
    out: Path,
    *,
    scale: float = 1,
    seed: int = 1,
    days: int | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Brings the landing folder to so many days (by default three, or what it has) and returns its
    manifest. A landing that has them already is left as it is."""
    _check(scale, seed, days)
    try:
        with _locked(out, seed, scale) as (found, is_resumed):
            have = len(found["days"]) if found else 0
            want = days if days is not None else max(POLICY.default_days, have)
            if found and want <= have:
                return found
            made = found or manifest.empty(seed, scale)
            for path, rows in _write_days(out, made, range(have + 1, want + 1), is_resumed):
                if progress:
                    progress(path, rows)
            manifest.write(out, made)
            return made
    except OSError as error:
        where = error.filename or out
        raise DemoError(f"cannot write to {where}: {error.strerror or error}") from None


def _check(scale: float, seed: int, days: int | None) -> None:
    if not math.isfinite(scale) or scale <= 0:
        raise DemoError(f"scale must be a number above 0, got {scale}")
    if not 0 <= seed < 2**63:
        raise DemoError(f"seed must be a whole number from 0 to 2^63-1, got {seed}")
    if days is not None and not 1 <= days <= POLICY.max_day:
        raise DemoError(f"days must be 1 to {POLICY.max_day}, got {days}")
    check_capacity(scale, days or POLICY.default_days)


@contextmanager
def _locked(out: Path, seed: int, scale: float) -> Iterator[tuple[Manifest | None, bool]]:
    """Holds the landing for one generation at a time; yields its manifest, if it has one,
    and whether a generation was killed here."""
    out.mkdir(parents=True, exist_ok=True)
    marker = out / _MARKER
    descriptor = os.open(marker, os.O_RDWR | os.O_CREAT, 0o644)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoError(f"another generation is writing to {out}: wait for it") from None
        unfinished = file.read()
        try:
            found = manifest.read(out)
            _check_same(out, unfinished, found, seed, scale)
        except DemoError:
            if not unfinished:
                marker.unlink()
            raise
        file.seek(0)
        file.truncate()
        file.write(json.dumps({"seed": seed, "scale": manifest.plain_scale(scale)}))
        file.flush()
        for leftover in out.glob("**/.*.tmp"):
            leftover.unlink(missing_ok=True)
        yield found, bool(unfinished)
        # Not in a finally: whatever ends a generation early, the next one must know its arguments.
        marker.unlink()


def _check_same(out: Path, unfinished: str, found: Manifest | None, seed: int, scale: float) -> None:
    """Refuses to mix landings."""
    if found:
        other = found
    elif unfinished:
        try:
            other = json.loads(unfinished)
        except ValueError:
            raise DemoError(f"{out / _MARKER} is damaged: remove the landing folder") from None
    elif any(out.glob("*/**/*.*")):
        raise DemoError(f"{out} holds files but no {manifest.NAME}: choose another folder")
    else:
        return
    if (other["seed"], float(other["scale"])) != (seed, float(scale)):
        raise DemoError(
            f"{out} was generated with seed {other['seed']} and scale {other['scale']}, not seed "
            f"{seed} and scale {scale:g}: use the same, or choose another folder"
        )


def _write_days(out: Path, made: Manifest, days: range, is_resumed: bool) -> Iterator[tuple[str, int]]:
    """Writes the files of the days and adds them to the manifest; yields each file and its rows."""
    seed, scale = made["seed"], made["scale"]
    town = Town(seed, scaled(POLICY.parcels_initial, scale))
    state = State.empty()
    for day in range(1, days.start):
        plan_day(state, seed, scale, day)
    for day in days:
        plan = plan_day(state, seed, scale, day)
        for drop in _drops(town, scale, day, plan):
            files: dict[str, int] = {}
            for part in drop.parts:
                path = out / part.path
                # Names become visible only when complete, so what a killed run left is finished.
                if not (is_resumed and path.exists()):
                    write_atomically(path, part.write)
                files[part.path] = part.rows
                yield part.path, part.rows
            manifest.add_drop(made, drop.entity, drop.tally, files)
        made["days"].append(day)


def _drops(town: Town, scale: float, day: int, plan: DayPlan) -> Iterator[Drop]:
    yield parcels.drop(town, day, plan)
    yield telemetry.drop(town, scale, day)
    for small in (zones.drop(town, scale, day), facilities.drop(town, scale, day)):
        if small:
            yield small
