"""What runs in Spark's Python workers: files in, Arrow batches out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from geostrata.landing.deliveries import Delivery, fingerprint, label
from geostrata.landing.outcomes import EMPTY, outcome_of, unforeseen
from geostrata.landing.reader_process import read
from geostrata.landing.spool import Spool
from geostrata.landing.storage import ENVIRONMENT, ReplacedMeanwhile, Storage, is_bucket, local_copy
from geostrata.readers import HalfWritten, LandedFile, ReaderError, SourceSpec, landed, output_schema
from geostrata.readers.errors import Passing, in_words, is_passing
from geostrata.readers.spec import POSITION

FILE, MTIME, ROW, PROBLEM = "_source_file", "_source_mtime", "_source_row", "_file_problem"
PRINT, DELIVERY = "_source_fingerprint", "_delivery"

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_NUMBERS = [(name, pa.int64()) for name in ("size", "modified_ms", "number")]
FILES_SCHEMA = pa.schema([("path", pa.string()), *_NUMBERS, ("fingerprint", pa.string())])
PRINT_SCHEMA = pa.schema([(name, pa.string()) for name in ("path", "fingerprint")])
OUTCOME_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("path", "kind", "reason", "new_columns", "fingerprint")]
)
# Positions that stand for a file, not for a row in it. The second is known to macros/expectations/expectation_sql.sql.
_WHOLE_FILE, _NO_ROWS = "file", "file without rows"


def rows_schema(spec: SourceSpec) -> pa.Schema:
    """Declared columns, the reader's extras, then where the row is from."""
    own = [
        (FILE, pa.string()),
        (MTIME, pa.timestamp("us", tz="UTC")),
        (ROW, pa.int64()),
        (PROBLEM, pa.string()),
        (PRINT, pa.string()),
        (DELIVERY, pa.int64()),
    ]
    return pa.schema([*output_schema(spec), *(pa.field(name, kind) for name, kind in own)])


def check_task(spec: SourceSpec, storage: Storage) -> Task:
    def check_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [(one.file.path, outcome_of(one.file, spec, storage)) for one in _deliveries(batch)]
            rows = [
                (path, one.kind, one.reason, json.dumps(one.new_columns), one.fingerprint)
                for path, one in found
            ]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.string()) for column in zip(*rows, strict=True)], schema=OUTCOME_SCHEMA
            )

    return check_files


def print_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [(one.file.path, _fingerprint(one.file)) for one in _deliveries(batch)]
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, pa.string()) for column in zip(*rows, strict=True)], schema=PRINT_SCHEMA
        )


def _fingerprint(file: LandedFile) -> str | None:
    try:
        return fingerprint(file)
    except (ReaderError, OSError):
        return None


def read_task(spec: SourceSpec, storage: Storage) -> Task:
    def read_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for delivery in _deliveries(batch):
                yield from delivered_rows(delivery, spec, storage)

    return read_files


def file_rows(file: LandedFile, spec: SourceSpec, storage: Storage = ENVIRONMENT) -> Iterator[pa.RecordBatch]:
    return delivered_rows(Delivery(file), spec, storage)


def delivered_rows(
    delivery: Delivery, spec: SourceSpec, storage: Storage = ENVIRONMENT
) -> Iterator[pa.RecordBatch]:
    """All rows of a file or none. A file that gives no row leaves one that says so, unless it is left for the next run.

    Trouble that passes fails the statement: the listing would not show the next run that a file is still to be loaded."""
    file = delivery.file
    with Spool(output_schema(spec)) as spool:
        problem = None
        try:
            with local_copy(file, storage) as local:
                if delivery.fingerprint is None:
                    delivery = replace(delivery, fingerprint=fingerprint(local))
                for batch in read(local, spec):
                    spool.add(batch)
        except ReplacedMeanwhile:
            return
        except HalfWritten as trouble:
            if not is_bucket(file.path) and _has_changed(file):
                return
            # It was whole when it was looked at, and is as it was then: waiting for more would be in vain.
            problem = trouble.reason
        except Passing:
            raise
        except ReaderError as trouble:
            problem = trouble.reason
        except Exception as trouble:  # one file that a library chokes on must not stop the others
            if is_passing(trouble):
                raise Passing(file.path, f"it can't be read now ({in_words(trouble)}); run again") from None
            problem = unforeseen(trouble)
        if problem is None and spool.rows == 0 and not file.size:
            problem = EMPTY
        if problem is not None or spool.rows == 0:
            yield _file_row(delivery, spec, problem)
            return
        first = 0
        for batch in spool.batches():
            yield _with_source(batch, delivery, first, spec)
            first += batch.num_rows


def _has_changed(file: LandedFile) -> bool:
    try:
        now = landed(file.path)
    except ReaderError:
        return True
    return (now.size, now.modified_ms) != (file.size, file.modified_ms)


def _deliveries(batch: pa.RecordBatch) -> Iterator[Delivery]:
    for row in batch.to_pylist():
        file = LandedFile(row["path"], row["size"], row["modified_ms"])
        yield Delivery(file, row["number"], row["fingerprint"])


def _file_row(delivery: Delivery, spec: SourceSpec, problem: str | None) -> pa.RecordBatch:
    """Stands for a file that could not be read, or has no rows."""
    schema = output_schema(spec)
    nothing = [pa.nulls(1, field.type) for field in schema]
    nothing[schema.get_field_index(POSITION)] = pa.array([_WHOLE_FILE if problem else _NO_ROWS])
    return _with_source(pa.RecordBatch.from_arrays(nothing, schema=schema), delivery, 0, spec, problem)


def _with_source(
    batch: pa.RecordBatch, delivery: Delivery, first: int, spec: SourceSpec, problem: str | None = None
) -> pa.RecordBatch:
    file = delivery.file
    rows = batch.num_rows
    schema = rows_schema(spec)
    source = [
        pa.repeat(pa.scalar(label(file.path, spec)), rows),
        pa.repeat(pa.scalar(file.modified_ms * 1000, pa.timestamp("us", tz="UTC")), rows),
        pa.array(range(first, first + rows), pa.int64()),
        pa.repeat(pa.scalar(problem, pa.string()), rows),
        pa.repeat(pa.scalar(delivery.fingerprint or f"{file.size}-"), rows),
        pa.repeat(pa.scalar(delivery.number), rows),
    ]
    return pa.RecordBatch.from_arrays([*batch.columns, *source], schema=schema)
