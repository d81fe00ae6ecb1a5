"""JSON lines, with or without geometry: every line that is not blank is a row, readable or corrupt."""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any

from geostrata.readers import crs as crss
from geostrata.readers.features import feature_record
from geostrata.readers.files import LandedFile
from geostrata.readers.json_scan import BLANKS, BrokenError, UnfinishedError, walk_object
from geostrata.readers.json_values import DECODER, Members
from geostrata.readers.packing import check_whole, open_unpacked
from geostrata.readers.rows import Record, Records
from geostrata.readers.spec import SourceSpec
from geostrata.readers.text import excerpt, lines, text_stream

ENDINGS = (".jsonl", ".ndjson", ".jsonlines", ".json")
FEATURE_ENDINGS = (".geojsonl", ".geojsons", ".ndgeojson", ".geojsonseq", *ENDINGS)
# RFC 8142 begins each record with it, and lets a record span lines.
_SEPARATOR = "\x1e"
_BLANK = " \t\r\n\ufeff"


def records(file: LandedFile, spec: SourceSpec) -> Records:
    return Records(None, (_object(*line) for line in _lines(file, spec, ENDINGS)))


def feature_records(file: LandedFile, spec: SourceSpec) -> Records:
    """The first line may declare a CRS (an old `crs` member); the others then share it."""
    geometry = spec.geometry_column()
    rows = (_feature(*line, geometry) for line in _lines(file, spec, FEATURE_ENDINGS))
    first = next(rows, None)
    if first is None:
        return Records(None, rows)
    declared = dict(zip(first.names, first.values, strict=True)).get("crs") if first.members else None
    return Records(crss.from_geojson(declared), _chain(first, rows))


def check(file: LandedFile, spec: SourceSpec) -> None:
    """Only what it is packed in can be wrong: a line that is no JSON is a row."""
    endings = FEATURE_ENDINGS if spec.format == "geojsonl" else ENDINGS
    next(_lines(file, spec, endings), None)
    check_whole(file.path, endings, spec.limits)


def _chain(first: Record, rest: Iterator[Record]) -> Iterator[Record]:
    yield first
    yield from rest


def _lines(file: LandedFile, spec: SourceSpec, endings: tuple[str, ...]) -> Iterator[tuple[int, str, int]]:
    with text_stream(open_unpacked(file.path, endings, spec.limits), spec.options.get("encoding")) as text:
        numbered = lines(text, spec.limits.record_bytes)
        first = next(((n, line, cut) for n, line, cut in numbered if line.strip(_BLANK)), None)
        if first is None:
            return
        every = _chain_lines(first, numbered)
        if first[1].lstrip(_BLANK).startswith(_SEPARATOR):
            every = _sequences(every, spec.limits.record_bytes)
        for number, line, cut in every:
            if stripped := line.strip(_BLANK + _SEPARATOR):
                yield number, stripped, cut


def _chain_lines(
    first: tuple[int, str, int], rest: Iterator[tuple[int, str, int]]
) -> Iterator[tuple[int, str, int]]:
    yield first
    yield from rest


def _sequences(every: Iterator[tuple[int, str, int]], longest: int) -> Iterator[tuple[int, str, int]]:
    """Records from separator to separator. One that can't be read that way falls back into its lines."""
    held: list[tuple[int, str, int]] = []
    chars = 0
    for number, line, cut in every:
        before, *parts = line.split(_SEPARATOR)
        if before.strip(_BLANK):
            held.append((number, before, cut))
            chars += len(before)
        for part in parts:
            yield from _joined(held)
            held, chars = [(number, part, cut)], len(part)
        if chars > longest:
            yield from held
            held, chars = [], 0
    yield from _joined(held)


def _joined(held: list[tuple[int, str, int]]) -> Iterator[tuple[int, str, int]]:
    if len(held) > 1:
        whole = "".join(line for _, line, _ in held)
        try:
            DECODER.decode(whole.strip(_BLANK))
        except (ValueError, RecursionError):
            yield from held
        else:
            yield held[0][0], whole, 0
    else:
        yield from held


def _object(number: int, line: str, cut: int) -> Record:
    position = f"line {number}"
    if cut:
        return Record(position, corrupt=excerpt(line, cut), chars=len(line))
    try:
        value: Any = DECODER.decode(line)
    except (JSONDecodeError, RecursionError):
        return Record(position, corrupt=line, chars=len(line))
    if isinstance(value, Members):
        names, values = zip(*value, strict=True) if value else ((), ())
        return Record(position, names, values, chars=len(line))
    return Record(position, corrupt=line, chars=len(line))


def _feature(number: int, line: str, cut: int, geometry: str) -> Record:
    position = f"line {number}"
    if cut:
        return Record(position, corrupt=excerpt(line, cut), chars=len(line))
    try:
        if not line.startswith("{"):
            raise BrokenError(0)
        found, end = walk_object(line, 0)
        match = BLANKS.match(line, end)
        if match is None or match.end() != len(line):
            raise BrokenError(end)
    except (BrokenError, UnfinishedError):
        return Record(position, corrupt=line, chars=len(line))
    return feature_record(position, found, line, geometry, len(line))
