"""What runs in Spark's Python workers: files in, Arrow batches out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pyarrow as pa

from geostrata.landing.outcomes import outcome_of, unforeseen
from geostrata.landing.spool import Spool
from geostrata.landing.storage import ENVIRONMENT, ReplacedMeanwhile, Storage, is_bucket, local_copy
from geostrata.readers import HalfWritten, LandedFile, ReaderError, SourceSpec, landed, output_schema, read
from geostrata.readers.spec import POSITION

FILE, MTIME, ROW, PROBLEM = "_source_file", "_source_mtime", "_source_row", "_file_problem"

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

FILES_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified_ms", pa.int64())])
OUTCOME_SCHEMA = pa.schema([(name, pa.string()) for name in ("path", "kind", "reason", "new_columns")])
_WHOLE_FILE = "file"


def rows_schema(spec: SourceSpec) -> pa.Schema:
    """Declared columns, the reader's extras, then where the row is from."""
    own = [
        (FILE, pa.string()),
        (MTIME, pa.timestamp("us", tz="UTC")),
        (ROW, pa.int64()),
        (PROBLEM, pa.string()),
    ]
    return pa.schema([*output_schema(spec), *(pa.field(name, kind) for name, kind in own)])


def check_task(spec: SourceSpec, storage: Storage) -> Task:
    def check_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [(file.path, outcome_of(file, spec, storage)) for file in _files(batch)]
            rows = [(path, one.kind, one.reason, json.dumps(one.new_columns)) for path, one in found]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.string()) for column in zip(*rows, strict=True)], schema=OUTCOME_SCHEMA
            )

    return check_files


def read_task(spec: SourceSpec, storage: Storage) -> Task:
    def read_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in _files(batch):
                yield from file_rows(file, spec, storage)

    return read_files


def file_rows(file: LandedFile, spec: SourceSpec, storage: Storage = ENVIRONMENT) -> Iterator[pa.RecordBatch]:
    """All rows of a file or none. A file that gives no row leaves one that says so, unless it is left for the next run."""
    with Spool(output_schema(spec)) as spool:
        problem = None
        try:
            with local_copy(file, storage) as local:
                for batch in read(local, spec):
                    spool.add(batch)
        except ReplacedMeanwhile:
            return
        except HalfWritten as trouble:
            if not is_bucket(file.path) and _has_changed(file):
                return
            # It was whole when it was looked at, and is as it was then: waiting for more would be in vain.
            problem = trouble.reason
        except ReaderError as trouble:
            problem = trouble.reason
        except Exception as trouble:  # one file that a library chokes on must not stop the others
            problem = unforeseen(trouble)
        if problem is None and spool.rows == 0:
            problem = "it holds no row" if file.size else "it is empty"
        if problem is not None:
            yield _problem_row(file, spec, problem)
            return
        first = 0
        for batch in spool.batches():
            yield _with_source(batch, file, first, spec)
            first += batch.num_rows


def _has_changed(file: LandedFile) -> bool:
    try:
        now = landed(file.path)
    except ReaderError:
        return True
    return (now.size, now.modified_ms) != (file.size, file.modified_ms)


def _files(batch: pa.RecordBatch) -> Iterator[LandedFile]:
    for row in batch.to_pylist():
        yield LandedFile(**row)


def _problem_row(file: LandedFile, spec: SourceSpec, problem: str) -> pa.RecordBatch:
    schema = output_schema(spec)
    nothing = [pa.nulls(1, field.type) for field in schema]
    nothing[schema.get_field_index(POSITION)] = pa.array([_WHOLE_FILE])
    return _with_source(pa.RecordBatch.from_arrays(nothing, schema=schema), file, 0, spec, problem)


def _with_source(
    batch: pa.RecordBatch, file: LandedFile, first: int, spec: SourceSpec, problem: str | None = None
) -> pa.RecordBatch:
    rows = batch.num_rows
    schema = rows_schema(spec)
    source = [
        pa.repeat(pa.scalar(file.path), rows),
        pa.repeat(pa.scalar(file.modified_ms * 1000, pa.timestamp("us", tz="UTC")), rows),
        pa.array(range(first, first + rows), pa.int64()),
        pa.repeat(pa.scalar(problem, pa.string()), rows),
    ]
    return pa.RecordBatch.from_arrays([*batch.columns, *source], schema=schema)
