"""Rows of any format within the limits of their source: a record beyond one is corrupt, a file beyond one is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from geostrata.readers.column_types import is_bytes, is_text
from geostrata.readers.errors import Refused
from geostrata.readers.files import LandedFile
from geostrata.readers.guessing import geometry_encoding
from geostrata.readers.limits import FileLimits, beyond
from geostrata.readers.packing import Unpacking
from geostrata.readers.spec import CORRUPT, EXTRAS, SourceSpec

# Whose rows may hold far more than their bytes: pages repeat a value, a view makes rows of nothing.
_GROWING = ("geopackage", "geoparquet", "parquet")
# No encoding writes a vertex shorter: `0 0,` in WKT.
_SHORTEST_VERTEX = 4


def bounded(
    file: LandedFile, spec: SourceSpec, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    limits = spec.limits
    unpacked = Unpacking(file.path, limits)
    rows = held = 0
    for batch in batches:
        rows += batch.num_rows
        held += batch.nbytes
        if rows > limits.rows:
            raise Refused(file.path, beyond("rows", f"it has more than {limits.rows:,} rows"))
        if held > limits.spool_bytes:
            what = f"its rows take more than {limits.spool_bytes:,} bytes of disk until its end is seen"
            raise Refused(file.path, beyond("spool_bytes", what))
        if spec.format in _GROWING:
            unpacked.add(_own_bytes(batch))
        yield _without_long_records(batch, limits)


def _own_bytes(batch: pa.RecordBatch) -> int:
    """Without what the reader adds itself, and columns that the file does not have."""
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return sum(one.nbytes for name, one in columns if name not in EXTRAS and one.null_count < len(one))


def _without_long_records(batch: pa.RecordBatch, limits: FileLimits) -> pa.RecordBatch:
    smallest = min(limits.record_bytes, _SHORTEST_VERTEX * limits.vertices)
    for at, name in enumerate(batch.schema.names):
        kind = batch.schema.field(at).type
        if name in EXTRAS or not (is_bytes(kind) or is_text(kind)):
            continue
        lengths = pc.binary_length(batch.column(at))
        if (pc.max(lengths).as_py() or 0) <= smallest:
            continue
        for row in pc.indices_nonzero(pc.greater(lengths, smallest)).to_pylist():
            value = batch.column(at)[row].as_py()
            if problem := _problem(name, value, limits):
                batch = _replaced(batch, at, row, None)
                batch = _replaced(batch, batch.schema.get_field_index(CORRUPT), row, problem)
    return batch


def _problem(name: str, value: str | bytes, limits: FileLimits) -> str | None:
    if len(value) > limits.record_bytes:
        return beyond("record_bytes", f"{name}: a value of {len(value):,} bytes")
    count = vertices(value)
    if count > limits.vertices:
        return beyond("vertices", f"{name}: a geometry of {count:,} vertices")
    return None


def _replaced(batch: pa.RecordBatch, at: int, row: int, value: Any) -> pa.RecordBatch:
    field, column = batch.schema.field(at), batch.column(at)
    parts = [column[:row], pa.array([value], field.type), column[row + 1 :]]
    return batch.set_column(at, field, pa.concat_arrays(parts))


def vertices(value: str | bytes) -> int:
    """About how many a geometry has, without a parser; 0 of what is none."""
    kind = geometry_encoding(value, set())
    if kind is None:
        return 0
    if isinstance(value, bytes):
        return len(value) // _vertex_bytes(value[:5])
    if kind == "hex":
        return len(value) // 2 // _vertex_bytes(bytes.fromhex(value[:10]))
    # A position of GeoJSON closes a bracket and so does a ring of them; in WKT commas part them.
    return value.count("]") if kind == "geojson" else value.count(",") + 1


def _vertex_bytes(head: bytes) -> int:
    code = int.from_bytes(head[1:5], "little" if head[0] else "big")
    dialect = (code & 0xFFFF) // 1000
    has_z, has_m = code & 0x80000000 or dialect in (1, 3), code & 0x40000000 or dialect in (2, 3)
    return 8 * (2 + bool(has_z) + bool(has_m))
