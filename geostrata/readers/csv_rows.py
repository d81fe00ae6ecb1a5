"""CSV: a record a line, or more where a quoted field holds line ends. A line that can't be read costs itself only."""

from __future__ import annotations

import csv
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from geostrata.errors import GeostrataError
from geostrata.readers.errors import Refused
from geostrata.readers.files import LandedFile
from geostrata.readers.json_values import free_name
from geostrata.readers.limits import LIMITS, FileLimits, beyond
from geostrata.readers.packing import check_whole, open_unpacked
from geostrata.readers.rows import NameMatch, Record, Records, missing_column, new_column
from geostrata.readers.spec import SourceSpec
from geostrata.readers.text import excerpt, lines, text_stream

ENDINGS = (".csv", ".tsv", ".txt")
# Python's own limit, 128 kB a field, is less than many a polygon; a record has one of ours.
csv.field_size_limit(sys.maxsize)


def records(file: LandedFile, spec: SourceSpec) -> Records:
    rows = _rows(file, spec)
    null = spec.options.get("null")
    if spec.options.get("header", "true").lower() == "true":
        names = _header(file.path, rows, spec.limits)
        if names is None:
            return Records(None, iter(()))
        _check_header(file.path, spec, names)
    else:
        names = list(spec.declared)
    columns = tuple(names)
    return Records(None, (_record(columns, null, *row) for row in rows), names)


def check(file: LandedFile, spec: SourceSpec) -> None:
    """Its header must be one, and what it is packed in be whole: lines have no end that could be missing."""
    records(file, spec)
    check_whole(file.path, ENDINGS, spec.limits)


_Row = tuple[int, str, list[str] | None]


def _header(path: str, rows: Iterator[_Row], limits: FileLimits) -> list[str] | None:
    first = next(rows, None)
    if first is None:
        return None
    _, raw, fields = first
    if fields is None:
        raise Refused(path, f"its header can't be read: {raw[:100]!r}; check separator, quote and encoding")
    if len(fields) > limits.columns:
        raise Refused(path, beyond("columns", f"its header has {len(fields):,} columns"))
    taken: set[str] = set()
    # Where counting goes on: from 2 again for each of a thousand equal names would take the square of the header's time.
    following: dict[str, int] = {}
    names = []
    for at, name in enumerate(fields, 1):
        # Repeated and empty names become name#2 and #3: the first of a name is the column.
        base = name or f"#{at}"
        count = following.get(name, 2)
        while base in taken:
            base, count = f"{name}#{count}", count + 1
        following[name] = count
        names.append(free_name(base, taken))
    return names


def _check_header(path: str, spec: SourceSpec, names: list[str]) -> None:
    declared = list(spec.declared)
    if not declared:
        return
    match = NameMatch(declared)
    found = {match.find(name) for name in names}
    if found == {None}:
        raise Refused(
            path,
            f"its header has none of the declared columns: {', '.join(names)[:200]!r}; check separator and encoding",
        )
    if spec.schema_policy == "rescue":
        return
    for at, name in enumerate(declared):
        if at not in found and name not in spec.optional:
            raise missing_column(path, name)
    new = [name for name in names if match.find(name) is None]
    if new and spec.schema_policy == "strict":
        raise new_column(path, new[0])


def _record(
    names: tuple[str, ...], null: str | None, number: int, raw: str, fields: list[str] | None
) -> Record:
    position = f"line {number}"
    # Too few fields: a line that was cut, and then its last value is not to be trusted either.
    if fields is None or len(fields) < len(names):
        return Record(position, corrupt=raw.rstrip("\r\n"), chars=len(raw))
    values: list[Any] = [None if value in ("", null) else value for value in fields]
    # Fields beyond the header are a fault of the row, not new columns.
    more = len(values) - len(names)
    if more:
        names = (*names, *(f"#{at}" for at in range(len(names) + 1, len(values) + 1)))
    return Record(position, names, values, chars=len(raw), members=more)


def _rows(file: LandedFile, spec: SourceSpec) -> Iterator[_Row]:
    """Line number, text, and fields; no fields where they can't be told."""
    dialect = _dialect(spec)
    with text_stream(open_unpacked(file.path, ENDINGS, spec.limits), spec.options.get("encoding")) as text:
        feed = _Feed(lines(text, spec.limits.record_bytes))
        reader = csv.reader(feed, strict=True, **dialect)
        while feed.begin():
            try:
                fields = next(reader)
            except (csv.Error, _NotClosedError):
                number, raw = feed.give_back()
                yield number, raw, None
                continue
            number, raw = feed.taken()
            if feed.has_cut:
                yield number, raw, None
            elif raw.strip("\r\n"):
                yield number, raw, fields


def _dialect(spec: SourceSpec) -> dict[str, Any]:
    separator = spec.options.get("separator", ",").replace("\\t", "\t")
    quote = spec.options.get("quote", '"')
    escape = spec.options.get("escape") or None
    for name, sign in (("separator", separator), ("quote", quote or '"'), ("escape", escape or "\\")):
        if len(sign) != 1 or sign in "\r\n":
            raise GeostrataError(f"source: option {name} must be one character, got {sign!r}")
    return {
        "delimiter": separator,
        "quotechar": quote or None,
        "quoting": csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        "escapechar": escape,
        "doublequote": escape is None or escape == quote,
    }


class _NotClosedError(Exception):
    """A quote was opened and not closed within reason."""


class _Feed:
    """Lines for csv.reader, remembered until the record is complete: after a stray quote they are read again."""

    def __init__(self, source: Iterator[tuple[int, str, int]]) -> None:
        self._source = source
        self._waiting: deque[tuple[int, str, int]] = deque()
        self._record: list[tuple[int, str, int]] = []
        self._chars = 0

    def begin(self) -> bool:
        self._record, self._chars = [], 0
        if not self._waiting:
            self._waiting.extend(line for line in (next(self._source, None),) if line is not None)
        return bool(self._waiting)

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        if self._waiting:
            line = self._waiting.popleft()
        else:
            following = next(self._source, None)
            if following is None:
                raise _NotClosedError
            line = following
        self._record.append(line)
        self._chars += len(line[1])
        if len(self._record) > LIMITS.quoted_lines or (
            len(self._record) > 1 and self._chars > LIMITS.quoted_chars
        ):
            raise _NotClosedError
        return line[1]

    @property
    def has_cut(self) -> bool:
        return any(cut for _, _, cut in self._record)

    def taken(self) -> tuple[int, str]:
        text = "".join(excerpt(line, cut) if cut else line for _, line, cut in self._record)
        return self._record[0][0], text

    def give_back(self) -> tuple[int, str]:
        """Only the first line is lost to the record; the others get their own chance."""
        (number, line, cut), *others = self._record
        self._waiting.extendleft(reversed(others))
        return number, excerpt(line, cut) if cut else line
