"""The command `geostrata demo`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geostrata.demo.errors import DemoError
from geostrata.demo.policy import POLICY


def default_landing() -> Path:
    return Path(os.environ.get("GEOSTRATA_STATE") or ".geostrata") / "landing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options. Numbers are read by `run`: its errors are one line, without the usage."""
    parser.add_argument(
        "--out",
        type=Path,
        help="the landing folder (default: landing/ in $GEOSTRATA_STATE or .geostrata)",
    )
    parser.add_argument(
        "--scale",
        help="1 is 20 thousand parcels and 100 thousand events a day (default: 1, or what the "
        "landing folder has)",
    )
    parser.add_argument("--seed", help="another seed, another town (default: 1, or as above)")
    days = parser.add_mutually_exclusive_group()
    days.add_argument("--days", help=f"how many days in all (default: {POLICY.default_days})")
    days.add_argument("--day", help="add the drop of this day, the next one")


def _number(args: argparse.Namespace, option: str, kind: Callable[[Any], Any], what: str) -> Any:
    """An option's number, or None where it was not given."""
    given = getattr(args, option)
    try:
        return None if given is None else kind(given)
    except ValueError:
        raise DemoError(f"{option} must be {what}, got {given}") from None


def run(args: argparse.Namespace) -> int:
    """Generates; returns the exit code."""
    out = args.out or default_landing()
    started = time.monotonic()
    line = _ProgressLine()
    try:
        made, added = _generate(out, args, line)
    except DemoError as error:
        line.clear()
        print(f"geostrata demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        line.clear()
        print("geostrata demo: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    line.clear()
    print(_summary(out, made, added, time.monotonic() - started))
    return 0


def _generate(out: Path, args: argparse.Namespace, line: _ProgressLine) -> tuple[Any, list[int]]:
    # Imported late: the command line lists its commands without loading numpy and the rest.
    from geostrata.demo import manifest
    from geostrata.demo.generation import generate

    scale = _number(args, "scale", float, "a number above 0")
    seed = _number(args, "seed", int, "a whole number")
    days = _number(args, "days", int, "a whole number")
    day = _number(args, "day", int, "a whole number")
    found = manifest.read(out)
    have = list(found["days"]) if found else []
    if scale is None:
        scale = found["scale"] if found else 1
    if seed is None:
        seed = found["seed"] if found else 1
    if day is not None:
        _check_next(out, day, len(have))
        days = max(day, len(have))
    made = generate(out, scale=scale, seed=seed, days=days, progress=line.show)
    return made, [day for day in made["days"] if day not in have]


def _check_next(out: Path, day: int, have: int) -> None:
    if not 1 <= day <= POLICY.max_day:
        raise DemoError(f"day must be 1 to {POLICY.max_day}, got {day}")
    if day > have + 1:
        last = f"its last day is {have}" if have else "it is empty"
        raise DemoError(f"day {day} needs day {day - 1} in {out}, but {last}: add day {have + 1} first")


def _summary(out: Path, made: Any, added: list[int], seconds: float) -> str:
    days = f"day {made['days'][0]}" if len(made["days"]) == 1 else f"days 1-{len(made['days'])}"
    if not added:
        what = f"{days} (seed {made['seed']}, scale {made['scale']})"
        return f"{out} already holds {what}: nothing to do"
    new = f"day {added[0]}" if len(added) == 1 else f"days {added[0]}-{added[-1]}"
    entities = made["entities"].items()
    landed = ", ".join(f"{counts['landed']:,} {entity}" for entity, counts in entities)
    faulty = sum(counts["quarantined"] for _, counts in entities)
    return (
        f"{out}: added {new} in {seconds:.1f} s; {days} now hold {landed} in "
        f"{len(made['files'])} files, {faulty:,} rows to be quarantined (manifest.json)"
    )


class _ProgressLine:
    """One updating line on a terminal, nothing elsewhere."""

    def __init__(self) -> None:
        self._rows = 0
        self._is_shown = sys.stderr.isatty()

    def show(self, path: str, rows: int) -> None:
        self._rows += rows
        if self._is_shown:
            print(f"\r\x1b[K{self._rows:,} rows  {path}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
