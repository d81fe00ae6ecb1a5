"""What the tables must hold, in plain Python: which deliveries were seen, what became of each row, and what is made of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

LONG_AGO = 1_700_000_000


class Row(NamedTuple):
    """All values are one character wide: files of as many rows are of one size."""

    key: str
    label: str
    height: int
    is_deleted: bool = False
    day: int = 1
    place: str = "inside"


class Content(NamedTuple):
    """`rows` none is a file of no bytes; no rows are a header alone."""

    rows: tuple[Row, ...] | None
    has_extra_column: bool = False


class File(NamedTuple):
    content: Content
    at: int


@dataclass(frozen=True)
class Delivery:
    name: str
    file: File
    is_refused: bool
    # Numbers of the rows that were forgotten; 0 of a file without rows.
    forgotten: frozenset[int] = frozenset()

    def rows(self) -> list[Row | None]:
        """As bronze has them: none stands for the file itself."""
        return [None] if self.is_refused or not self.file.content.rows else list(self.file.content.rows)


@dataclass
class Oracle:
    """Of one entity."""

    is_snapshot: bool
    files: dict[str, File] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    is_mounted: bool = True
    deliveries: list[Delivery] = field(default_factory=list)
    # Refused deliveries that were asked to be looked at again, in the order of the requests, and how many of them bronze has answered.
    requests: list[tuple[str, File]] = field(default_factory=list)
    answered: int = 0
    below: int = 10
    policy: str = "rescue"
    is_wide: bool = False
    variants: dict[str, int] = field(default_factory=dict)

    def variant(self, model: str) -> int:
        return self.variants.get(model, 1)

    # Bronze

    def listed(self) -> dict[str, File]:
        return self.files if self.is_mounted else {}

    def last(self, name: str) -> Delivery | None:
        return next((one for one in reversed(self.deliveries) if one.name == name), None)

    def released(self) -> set[str]:
        refused = {(one.name, one.file) for one in self.deliveries if one.is_refused}
        return {name for name, file in self.requests[self.answered :] if (name, file) in refused}

    def release_files(self) -> None:
        """By `release_quarantine` for `file_accepted`."""
        self.requests += [
            (one.name, one.file)
            for one, _, _, reasons, is_stale in self.judged()
            if reasons == ["file_accepted"] and not is_stale
        ]

    def loaded(self, deliveries: list[Delivery]) -> None:
        """Bronze was written. What could not be read now stays asked for."""
        waiting = [it for it in self.requests[self.answered :] if it[0] in self.unreadable]
        self.deliveries = deliveries
        self.answered = len(self.requests)
        self.requests += waiting

    def after_load(self) -> list[Delivery]:
        """What bronze holds after a run."""
        seen, released = list(self.deliveries), self.released()
        for name, file in sorted(self.listed().items()):
            last = self.last(name)
            is_known = last is not None and last.file == file and name not in released
            if not is_known and name not in self.unreadable:
                seen.append(self._delivered(name, file))
        return seen

    def after_refresh(self, may_drop: bool) -> list[Delivery] | None:
        """What bronze holds after a full refresh; none if it must be refused, since rows would be lost that count."""
        listed = self.listed()
        for one in self.deliveries if not may_drop else ():
            if one.name not in listed or (not one.is_refused and not self._is_readable(one.name)):
                return None
        return [
            self._again(name, file) for name, file in sorted(listed.items()) if name not in self.unreadable
        ]

    def _is_readable(self, name: str) -> bool:
        return name not in self.unreadable and not self._delivered(name, self.files[name]).is_refused

    def _again(self, name: str, file: File) -> Delivery:
        """What was forgotten of a file stays forgotten when it is read again."""
        last, again = self.last(name), self._delivered(name, file)
        return replace(again, forgotten=last.forgotten) if last is not None and last.file == file else again

    def _delivered(self, name: str, file: File) -> Delivery:
        is_refused = file.content.rows is None or (self.policy == "strict" and file.content.has_extra_column)
        return Delivery(name, file, is_refused)

    def forget(self, column: str, value: str) -> None:
        def is_meant(row: Row | None) -> bool:
            return row is not None and str(getattr(row, column)) == value

        self.deliveries = [
            replace(one, forgotten=one.forgotten | {at for at, row in enumerate(one.rows()) if is_meant(row)})
            for one in self.deliveries
        ]

    # Verdicts

    def reasons(self, delivery: Delivery, at: int, row: Row | None) -> list[str]:
        if delivery.is_refused:
            return ["file_accepted"]
        if row is None:
            return ["file_has_rows"]
        if at in delivery.forgotten:
            return ["record_readable"]
        found = []
        if not row.key.strip():
            found.append("key_present")
        if self.is_snapshot:
            if row.place != "inside":
                found.append("coordinates_within_crs")
            if row.height >= self.below or row.place != "inside":
                found.append("height_sane")
        else:
            if row.place == "torn":
                found.append("geometry_readable")
            if row.place == "outside" and not self.is_wide:
                found.append("within_extent")
            if row.height >= self.below:
                found.append("height_sane")
        return found

    def judged(self) -> Iterator[tuple[Delivery, int, Row | None, list[str], bool]]:
        """Every landed row: its delivery, place, content, reasons, and whether something newer has taken the place of its file."""
        current: dict[str, int] = {}
        for number, one in enumerate(self.deliveries):
            if not one.is_refused:
                current[one.name] = number
        newest = max((self.deliveries[number].file.at for number in current.values()), default=0)
        for number, one in enumerate(self.deliveries):
            is_stale = number < current.get(one.name, -1) or (self.is_snapshot and one.file.at < newest)
            for at, row in enumerate(one.rows()):
                yield one, at, row, self.reasons(one, at, row), is_stale

    def told(self, reasons: list[str]) -> str:
        """Rows of old deliveries are not asked out of quarantine when the extent grows: their verdict may be the old one."""
        return ",".join(reason for reason in reasons if reason != "within_extent" or not self.is_wide)

    # Tables

    def entity(self) -> dict[str, tuple[Row, str]]:
        """The newest valid version of each key, and the file that it is from."""
        best: dict[str, tuple[Any, Row, str]] = {}
        for one, at, row, reasons, is_stale in self.judged():
            if reasons or is_stale or row is None:
                continue
            order = (one.file.at if self.is_snapshot else row.day, one.name, at)
            if row.key not in best or best[row.key][0] < order:
                best[row.key] = (order, row, one.name)
        found = {key: (row, name) for key, (_, row, name) in best.items()}
        return found if self.is_snapshot else {key: it for key, it in found.items() if not it[0].is_deleted}

    def quarantine(self) -> Counter[Any]:
        return Counter(
            (one.name, row.key if row and at not in one.forgotten else None, tuple(reasons))
            for one, at, row, reasons, is_stale in self.judged()
            if reasons and not is_stale
        )

    def ledger(self) -> dict[str, int]:
        landed = sum(len(one.rows()) for one in self.deliveries)
        accepted, quarantined = len(self.entity()), self.quarantine().total()
        return {
            "landed": landed,
            "accepted": accepted,
            "quarantined": quarantined,
            "superseded": landed - accepted - quarantined,
            "missing": 0,
            "counted_twice": 0,
        }

    def tables(self) -> dict[str, Counter[Any]]:
        """By model, the rows that its table must hold, whether the world has it or not."""
        rows = self.entity()
        verdicts = Counter(
            (self.told(reasons), str(self.variant("verdicts"))) for *_, reasons, _stale in self.judged()
        )
        summary: Counter[Any] = Counter([(len(rows) * self.variant("summary"),)])
        if self.is_snapshot:
            label = str(self.variant("entity"))
            return {
                "entity": Counter((key, label, name) for key, (_, name) in rows.items()),
                "summary": summary,
            }
        suffix = "" if self.variant("entity") == 1 else "2"
        heights = {key: float(row.height * self.variant("checked")) for key, (row, _) in rows.items()}
        labels = {key: row.label + suffix for key, (row, _) in rows.items()}
        days = {key: row.day for key, (row, _) in rows.items()}
        mark = "" if self.variant("places") == 1 else "!"
        daily: Counter[Any] = Counter(
            (
                f"2026-01-{day:02}",
                sum(it == day for it in days.values()),
                sum(heights[key] for key in rows if days[key] == day) * self.variant("daily"),
            )
            for day in set(days.values())
        )
        return {
            "entity": Counter(
                (key, labels[key], heights[key], f"2026-01-{days[key]:02}", name)
                for key, (_, name) in rows.items()
            ),
            "places": Counter((key, labels[key] + mark, heights[key]) for key in rows),
            "verdicts": verdicts,
            "daily": daily,
            "summary": summary,
        }
