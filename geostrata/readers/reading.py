"""One way in for all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from geostrata.readers import csv_rows, flatgeobuf, geojson, geopackage, json_lines, ogr, parquet, rows
from geostrata.readers.bounds import bounded
from geostrata.readers.errors import Refused
from geostrata.readers.files import LandedFile, head, unchanged
from geostrata.readers.rows import Records
from geostrata.readers.spec import SourceSpec

_Check = Callable[[LandedFile, SourceSpec], None]
_Batches = Callable[[LandedFile, SourceSpec], Iterator[pa.RecordBatch]]
# What a text format would otherwise take for one long corrupt line.
_NOT_TEXT = {
    parquet.MAGIC: "Parquet",
    geopackage.MAGIC: "SQLite or GeoPackage",
    flatgeobuf.MAGIC: "FlatGeobuf",
}


@dataclass(frozen=True)
class _Format:
    check: _Check
    batches: _Batches


def _text(records: Callable[[LandedFile, SourceSpec], Records], look: _Check) -> _Format:
    def check(file: LandedFile, spec: SourceSpec) -> None:
        _is_text(file, spec)
        look(file, spec)

    def batches(file: LandedFile, spec: SourceSpec) -> Iterator[pa.RecordBatch]:
        _is_text(file, spec)
        return rows.batches(file.path, spec, records(file, spec))

    return _Format(check, batches)


def _is_text(file: LandedFile, spec: SourceSpec) -> None:
    first = head(file.path, 16)
    for magic, name in _NOT_TEXT.items():
        if first.startswith(magic):
            raise Refused(file.path, f"it is {name}, not {spec.format}; check the source's format")


FORMATS = {
    "csv": _text(csv_rows.records, csv_rows.check),
    "flatgeobuf": _Format(ogr.check, ogr.batches),
    "geojson": _text(geojson.records, geojson.check),
    "geojsonl": _text(json_lines.feature_records, json_lines.check),
    "geopackage": _Format(ogr.check, ogr.batches),
    "geoparquet": _Format(parquet.check, parquet.batches),
    "jsonl": _text(json_lines.records, json_lines.check),
    "parquet": _Format(parquet.check, parquet.batches),
    "shapefile": _Format(ogr.check, ogr.batches),
}


def read(file: LandedFile, spec: SourceSpec) -> Iterator[pa.RecordBatch]:
    """The rows of a file. Keep them only if no error follows: a cut file may show only at its end."""
    with unchanged(file):
        if file.size:
            yield from bounded(file, spec, FORMATS[spec.format].batches(file, spec))


def check(file: LandedFile, spec: SourceSpec) -> None:
    """A look without the rows that raises what `read` would. Of a file that is cut short, always: where that shows only
    at the end, the file is gone through, but not parsed."""
    with unchanged(file):
        if file.size:
            FORMATS[spec.format].check(file, spec)
