"""GeoParquet and Parquet: row group by row group, page by page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from geostrata.readers import crs as crss
from geostrata.readers.columns import ColumnPlan
from geostrata.readers.errors import HalfWritten, Refused
from geostrata.readers.files import LandedFile, open_file
from geostrata.readers.limits import LIMITS, beyond
from geostrata.readers.spec import SourceSpec

MAGIC = b"PAR1"
# GeoParquet 1.x: a column without a `crs` key is in longitude and latitude.
_NO_CRS_KEY = "OGC:CRS84"


def check(file: LandedFile, spec: SourceSpec) -> None:
    with open_file(file.path) as stream:
        if opened := open_parquet(file, stream):
            _plan(file, spec, opened)


def columns(file: LandedFile) -> list[tuple[str, pa.DataType]]:
    with open_file(file.path) as stream:
        opened = open_parquet(file, stream)
        with _damage(file.path):
            return [] if opened is None else [(field.name, field.type) for field in opened.schema_arrow]


def batches(file: LandedFile, spec: SourceSpec) -> Iterator[pa.RecordBatch]:
    with open_file(file.path) as stream:
        opened = open_parquet(file, stream)
        if opened is None:
            return
        plan = _plan(file, spec, opened)
        crs = declared_crs(opened, spec.options.get("geometry"))
        for group in range(opened.num_row_groups):
            done = 0
            for batch in _group(file, opened, group):
                count = pa.array(range(done, done + batch.num_rows)).cast(pa.string())
                positions = pc.binary_join_element_wise(f"row group {group}, row ", count, "")
                yield plan.fit(batch.columns, positions, crs)
                done += batch.num_rows


def open_parquet(file: LandedFile, stream: BinaryIO) -> pq.ParquetFile | None:
    """None for an empty file."""
    if file.size == 0:
        return None
    first = stream.read(len(MAGIC))
    if not MAGIC.startswith(first) and first != MAGIC:
        raise Refused(file.path, "it does not begin as Parquet does; check the source's format")
    stream.seek(max(0, file.size - len(MAGIC)))
    if file.size < 12 or stream.read(len(MAGIC)) != MAGIC:
        raise HalfWritten(file.path, "the Parquet footer is missing: it is cut short; left for the next run")
    stream.seek(0)
    with _damage(file.path):
        # Column chunks are streamed through a small buffer: a row group may be larger than memory.
        return pq.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)


def _plan(file: LandedFile, spec: SourceSpec, opened: pq.ParquetFile) -> ColumnPlan:
    with _damage(file.path):
        schema, rows = opened.schema_arrow, opened.metadata.num_rows
    # The schema's own columns are few where one of them is nested a thousand times.
    leaves = opened.metadata.num_columns
    if leaves > spec.limits.columns:
        raise Refused(file.path, beyond("columns", f"it has {leaves:,} columns"))
    if rows > spec.limits.rows:
        raise Refused(file.path, beyond("rows", f"it has {rows:,} rows"))
    return ColumnPlan(file.path, spec, schema.names, schema.types)


def _group(file: LandedFile, opened: pq.ParquetFile, group: int) -> Iterator[pa.RecordBatch]:
    with _damage(file.path):
        facts = opened.metadata.row_group(group)
        row_bytes = max(1, facts.total_byte_size // max(1, facts.num_rows))
        rows = max(1, min(LIMITS.batch_rows, LIMITS.batch_bytes // row_bytes))
        read = 0
        for batch in opened.iter_batches(batch_size=rows, row_groups=[group], use_threads=False):
            read += batch.num_rows
            yield batch
    if read != facts.num_rows:
        raise Refused(
            file.path, f"row group {group} has {read} of {facts.num_rows} rows: damaged; deliver it again"
        )


@contextmanager
def _damage(path: str) -> Iterator[None]:
    try:
        yield
    # Arrow names trouble with a page in any of these words; MemoryError is a damaged length.
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        KeyError,
        OverflowError,
        MemoryError,
        NotImplementedError,
    ) as error:
        first_line = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise Refused(path, f"the Parquet file is damaged ({first_line}); deliver it again") from None


def geo_metadata(opened: pq.ParquetFile) -> dict[str, Any]:
    """What GeoParquet says of its columns; nothing if there is none, or if it can't be read."""
    metadata = opened.schema_arrow.metadata or {}
    try:
        geo = json.loads(metadata.get(b"geo", b"{}"))
    except (ValueError, RecursionError):
        return {}
    return geo if isinstance(geo, dict) else {}


def declared_crs(opened: pq.ParquetFile, column: str | None) -> str | None:
    geo = geo_metadata(opened)
    columns = geo.get("columns")
    columns = columns if isinstance(columns, dict) else {}
    name = column if column in columns else geo.get("primary_column")
    facts = columns.get(name) if isinstance(name, str) else None
    if isinstance(facts, dict):
        return crss.from_projjson(facts["crs"]) if "crs" in facts else _NO_CRS_KEY
    return _field_crs(opened, column)


def _field_crs(opened: pq.ParquetFile, column: str | None) -> str | None:
    """GeoArrow's way, and that of Parquet's own geometry type: the crs is with the field."""
    for field in opened.schema_arrow:
        if column in (None, field.name):
            extension = (field.metadata or {}).get(b"ARROW:extension:metadata")
            try:
                facts = json.loads(extension) if extension else {}
            except (ValueError, RecursionError):
                continue
            if isinstance(facts, dict) and "crs" in facts:
                return crss.from_projjson(facts["crs"])
    return None
