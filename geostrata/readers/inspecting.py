"""What do these files hold? A bounded look, for a person who adds a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from geostrata.readers import csv_rows, geojson, json_lines, ogr, parquet, shapefile
from geostrata.readers.column_types import spark_type
from geostrata.readers.detecting import HEAD_BYTES, detect, guess_latin
from geostrata.readers.errors import Refused
from geostrata.readers.files import LandedFile, landed
from geostrata.readers.guessing import ColumnGuess, geometry_of, key_of, lonlat_of
from geostrata.readers.limits import LIMITS, FileLimits
from geostrata.readers.reading import read
from geostrata.readers.rows import Record
from geostrata.readers.spec import EXTRAS, SourceSpec

_RECORDS = {
    "csv": csv_rows.records,
    "geojson": geojson.records,
    "geojsonl": json_lines.feature_records,
    "jsonl": json_lines.records,
}


@dataclass(frozen=True)
class SourceFacts:
    """`encoding`: wkb, ewkb, hex, wkt, geojson, or lonlat with the two columns in `lonlat`."""

    format: str
    columns: dict[str, str]
    geometry: str | None = None
    encoding: str | None = None
    lonlat: tuple[str, str] | None = None
    crs: str | None = None
    key: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    sampled_files: int = 0
    sampled_records: int = 0
    corrupt_records: int = 0
    # What a person should know before believing the rest.
    notes: tuple[str, ...] = ()

    def spec(self, schema_policy: str = "rescue") -> SourceSpec:
        return SourceSpec(self.format, self.columns, self.options, schema_policy)


@dataclass
class _Sample:
    types: dict[str, str] = field(default_factory=dict)
    guesses: dict[str, ColumnGuess] = field(default_factory=dict)
    crss: list[str | None] = field(default_factory=list)
    rows: int = 0
    corrupt: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, fields: Sequence[tuple[str, Any]], is_typed: bool) -> None:
        self.rows += 1
        for name, value in fields:
            self.guesses.setdefault(name, ColumnGuess()).add(value, is_typed)

    def end_file(self) -> None:
        for guess in self.guesses.values():
            guess.end_file()


def inspect(paths: Sequence[str], options: dict[str, str] | None = None) -> SourceFacts:
    """The first files of a source. `options` are those that a person already knows, as the layer."""
    if not paths:
        raise Refused("no file", "name at least one to look at")
    sample = _Sample()
    name, found = detect(str(paths[0]))
    found.update(options or {})
    for path in paths[: LIMITS.sample_files]:
        own = detect(str(path))[0]
        if own != name:
            raise Refused(str(path), f"it is {own}, the first file is {name}; a source has one format")
        file = landed(path)
        if name == "shapefile" and "encoding" not in found:
            text = shapefile.table_text(file, SourceSpec(name, {}, found), HEAD_BYTES)
            found.update({"encoding": encoding} if (encoding := guess_latin(text)) else {})
        if name in _RECORDS:
            _sample_records(file, SourceSpec(name, {}, found), sample)
        else:
            _sample_columns(file, name, found, sample)
        sample.end_file()
    return _facts(name, found, sample, min(len(paths), LIMITS.sample_files))


def _sample_records(file: LandedFile, spec: SourceSpec, sample: _Sample) -> None:
    records = _RECORDS[spec.format](file, spec)
    sample.crss.append(records.crs)
    for name in records.names or ():
        sample.guesses.setdefault(name, ColumnGuess())
    chars = 0
    for record in islice(records.rows, LIMITS.sample_records):
        chars += record.chars
        if record.corrupt is not None:
            sample.corrupt += 1
        else:
            sample.add(_columns_of(record), is_typed=spec.format != "csv")
        if chars > LIMITS.sample_bytes:
            break


def _columns_of(record: Record) -> list[tuple[str, Any]]:
    """Of what is no column, only a feature's id may become one."""
    own = len(record.names) - record.members
    fields = list(zip(record.names, record.values, strict=True))
    return [
        *fields[:own],
        *(field for field in fields[own:] if field[0] == "id" and "id" not in record.names[:own]),
    ]


def _sample_columns(file: LandedFile, name: str, options: dict[str, str], sample: _Sample) -> None:
    columns = (
        _parquet_columns(file) if name in ("parquet", "geoparquet") else _ogr_columns(file, name, options)
    )
    for column, kind in columns.items():
        known = sample.types.setdefault(column, kind)
        if known != kind:
            sample.notes.append(f"column {column} is {known} in one file and {kind} in {file.path}")
            sample.types[column] = "string"
    for row in islice(_rows(file, SourceSpec(name, columns, options), sample), LIMITS.sample_records):
        sample.add([(column, row[column]) for column in columns], is_typed=True)


def _rows(file: LandedFile, spec: SourceSpec, sample: _Sample) -> Iterator[dict[str, Any]]:
    crs: str | None = None
    is_first = True
    for batch in read(file, spec):
        crs = batch.column(EXTRAS[1])[0].as_py() if batch.num_rows else crs
        if is_first:
            sample.crss.append(crs)
            is_first = False
        yield from batch.to_pylist()


def _parquet_columns(file: LandedFile) -> dict[str, str]:
    return {name: spark_type(kind) for name, kind in parquet.columns(file)}


def _ogr_columns(file: LandedFile, name: str, options: dict[str, str]) -> dict[str, str]:
    return {column: spark_type(kind) for column, kind in ogr.columns(file, SourceSpec(name, {}, options))}


def _facts(name: str, options: dict[str, str], sample: _Sample, files: int) -> SourceFacts:
    types = {column: sample.types.get(column, guess.spark_type) for column, guess in sample.guesses.items()}
    types = {**sample.types, **types}
    if len(types) > (most := FileLimits().columns):
        raise Refused("the sample", f"its files have {len(types):,} columns in all, and {most:,} are read")
    geometry = geometry_of(sample.guesses)
    lonlat = None if geometry else lonlat_of(types)
    if name in ("geojson", "geojsonl"):
        types["geometry"] = "string"
        geometry = ("geometry", "geojson")
    crss = sorted({crs for crs in sample.crss if crs is not None})
    srids = sorted(sample.guesses[geometry[0]].srids) if geometry and geometry[0] in sample.guesses else []
    if not crss and len(srids) == 1:
        crss = [f"EPSG:{srids[0]}"]
    if len(crss) > 1:
        sample.notes.append(f"files differ in their CRS: {', '.join(crs[:40] for crs in crss)}")
    if sample.corrupt:
        sample.notes.append(f"{sample.corrupt} records of the sample can't be read")
    key, note = key_of(sample.guesses, types, sample.rows)
    if note:
        sample.notes.append(note)
    return SourceFacts(
        format=name,
        columns=types,
        geometry=geometry[0] if geometry else None,
        encoding=geometry[1] if geometry else "lonlat" if lonlat else None,
        lonlat=lonlat,
        crs=crss[0] if len(crss) == 1 else None,
        key=key,
        options=options,
        sampled_files=files,
        sampled_records=sample.rows + sample.corrupt,
        corrupt_records=sample.corrupt,
        notes=tuple(sample.notes),
    )
