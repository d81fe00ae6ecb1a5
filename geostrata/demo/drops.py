"""What an entity delivers on a day: files to write, and what must become of their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from geostrata.demo.faults import EXPECTATION, LATE_EVENT, Planted


@dataclass(frozen=True)
class Part:
    """One file: its place in the landing folder, its rows, and how to write it."""

    path: str
    rows: int
    write: Callable[[Path], None]


@dataclass
class Tally:
    """What a drop adds to the expected counts; accepted may shrink, by deletes."""

    accepted: int = 0
    quarantined: int = 0
    superseded: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    expectations: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)

    def quarantine(self, fault: str, rows: int = 1) -> None:
        self.quarantined += rows
        self.faults[fault] += rows
        self.expectations[EXPECTATION[fault]] += rows

    def quarantine_all(self, planted: list[Planted]) -> None:
        for each in planted:
            self.quarantine(each.fault)

    def supersede(self, kind: str, rows: int) -> None:
        """Rows that are superseded as they arrive."""
        self.superseded += rows
        self.faults[kind] += rows

    def warn_late(self, rows: int) -> None:
        self.accepted += rows
        self.faults[LATE_EVENT] += rows
        self.warnings["on_time"] += rows


@dataclass(frozen=True)
class Drop:
    """The parts are made one at a time, so that a large drop never lies in memory at once."""

    entity: str
    tally: Tally
    parts: Iterator[Part]


def part_ranges(rows: int, limit: int) -> list[tuple[int, int]]:
    """Even row ranges of at most the limit."""
    count = -(-rows // limit)
    return [(rows * part // count, rows * (part + 1) // count) for part in range(count)]
