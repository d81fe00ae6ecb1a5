"""A second look at the sample, for what the columns and types of the first one leave open."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from typing import Any

from geostrata.landing.reader_process import call
from geostrata.readers import ReaderError, SourceFacts, inspect, landed, read
from geostrata.readers.column_types import arrow_type
from geostrata.readers.detecting import detect
from geostrata.readers.fitting import MISFIT, Fitter, fitter
from geostrata.readers.guessing import geometry_encoding
from geostrata.readers.limits import LIMITS, FileLimits
from geostrata.readers.spec import CORRUPT, CRS

_TYPES = {
    1: "Point",
    2: "LineString",
    3: "Polygon",
    4: "MultiPoint",
    5: "MultiLineString",
    6: "MultiPolygon",
    7: "GeometryCollection",
}
_BY_WORD = {name.upper(): name for name in _TYPES.values()}
_WKT = re.compile(r"\s*(?:SRID=\d+;)?\s*([A-Z]+)", re.IGNORECASE)
# Text that could be narrowed, if most of it fits.
_NARROWER: dict[str, Fitter] = {kind: fitter(arrow_type("sample", kind)) for kind in ("double", "timestamp")}


@dataclass
class ColumnFacts:
    """Of the values in the sample: null ones, repeated ones within a file, and those that another type would hold."""

    values: int = 0
    nulls: int = 0
    repeats: int = 0
    fits: Counter[str] = field(default_factory=Counter)
    geometry_types: Counter[str] = field(default_factory=Counter)
    encodings: Counter[str] = field(default_factory=Counter)
    crs_like: int = 0
    early: int = 0
    # Numbers that are no longitude, no latitude.
    beyond: Counter[int] = field(default_factory=Counter)
    _seen: set[int] = field(default_factory=set)

    def add(self, value: Any) -> None:
        if value is None:
            self.nulls += 1
            return
        self.values += 1
        mark = hash(value)
        self.repeats += mark in self._seen
        self._seen.add(mark)
        if isinstance(value, str | bytes):
            self._add_text(value)
        elif isinstance(value, dt.date):
            self.early += value.year < EARLIEST
        elif isinstance(value, int | float | Decimal):
            self.beyond.update(bound for bound in (180, 90) if abs(float(value)) > bound)
        if isinstance(value, str | int) and _CRS.fullmatch(str(value).strip()):
            self.crs_like += 1

    def _add_text(self, value: str | bytes) -> None:
        if encoding := geometry_encoding(value, set()):
            self.encodings[encoding] += 1
            if kind := geometry_type(value):
                self.geometry_types[kind] += 1
        elif isinstance(value, str) and len(value) < _LONGEST_VALUE:
            self.fits.update(kind for kind, fit in _NARROWER.items() if fit(value) is not MISFIT)

    def end_file(self) -> None:
        """A key comes again in a later file, with a newer version."""
        self._seen.clear()

    def is_nearly(self, kind: str) -> bool:
        return self.values > 0 and self.fits[kind] >= 0.9 * self.values


# Of a time in the source: before that it is more likely a default than a date.
EARLIEST = 2000
# Of files that can't be looked at, so many are named.
_TOLD = 5
# A person waits for it.
_BOUNDS = FileLimits(deadline_s=120)
# No number and no time is longer.
_LONGEST_VALUE = 100
_CRS = re.compile(r"[A-Za-z]+:[0-9A-Za-z]+|[0-9]{4,6}|urn:ogc:def:crs:\S+|\+proj=.+", re.IGNORECASE)


@dataclass(frozen=True)
class Look:
    """What both looks found. `file_crss` are those that files declare, None among them if one declares none."""

    facts: SourceFacts
    columns: dict[str, ColumnFacts]
    file_crss: tuple[str | None, ...]
    rows: int


def look(paths: Sequence[str], options: dict[str, str]) -> Look:
    """In a process that can be killed, as every file that somebody else wrote."""
    sound, notes = _sound(paths)
    size = sum(landed(path).size for path in sound[: LIMITS.sample_files])
    found = call(", ".join(sound), size, _BOUNDS, _look, sound, options)
    return replace(found, facts=replace(found.facts, notes=(*notes, *found.facts.notes)))


def _look(sound: Sequence[str], options: dict[str, str]) -> Look:
    facts = inspect(sound, options)
    columns = {name: ColumnFacts() for name in facts.columns}
    crss: set[str | None] = set()
    rows = 0
    for path in sound:
        for row in islice(_rows(path, facts), LIMITS.sample_records):
            rows += 1
            crss.add(row[CRS])
            for name, column in columns.items():
                column.add(row[name])
        for column in columns.values():
            column.end_file()
    return Look(facts, columns, tuple(sorted(crss, key=str)), rows)


def _sound(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """The first files that can be told by their format, and what is wrong with those passed over: a folder in use has some."""
    sound: list[str] = []
    troubles: list[ReaderError] = []
    for path in paths:
        try:
            call(path, landed(path).size, _BOUNDS, detect, path)
            sound.append(path)
        except ReaderError as trouble:
            troubles.append(trouble)
        if len(sound) == LIMITS.sample_files:
            break
    if not sound:
        raise troubles[0]
    return sound, [f"passed over: {trouble}" for trouble in troubles[:_TOLD]]


def _rows(path: str, facts: SourceFacts) -> Iterator[dict[str, Any]]:
    size = 0
    for batch in read(landed(path), facts.spec()):
        yield from (row for row in batch.to_pylist() if row[CORRUPT] is None)
        size += batch.nbytes
        if size > LIMITS.sample_bytes:
            return


def geometry_type(value: str | bytes) -> str | None:
    """By its first bytes or words. GEOS is not asked: a hostile value could take the process along."""
    if isinstance(value, bytes):
        return _wkb_type(value[:5])
    text = value.lstrip()
    if text.startswith("{"):
        return _geojson_type(text)
    if text.startswith(("00", "01")):
        return _wkb_type(bytes.fromhex(text[:10]))
    found = _WKT.match(text)
    return _BY_WORD.get(found[1].upper().removesuffix("M").removesuffix("Z")) if found else None


def _wkb_type(head: bytes) -> str | None:
    code = int.from_bytes(head[1:5], "little" if head[0] == 1 else "big")
    return _TYPES.get((code & 0x0FFFFFFF) % 1000)


def _geojson_type(text: str) -> str | None:
    try:
        kind = json.loads(text).get("type")
    except (ValueError, RecursionError):
        return None
    return kind if kind in _TYPES.values() else None
