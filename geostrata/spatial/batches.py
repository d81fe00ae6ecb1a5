"""What every join by Arrow batches needs: a small side that all workers hold, and batches large enough for numpy."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geostrata.errors import GeostrataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Rows and bytes of a batch to work on. Spark hands out ten thousand rows, of whatever width.
ROWS, BYTES = 1 << 17, 64 << 20
# Joins of one statement whose indexes a worker keeps. Workers are used again.
_KEPT = 4
_indexes: dict[str, Any] = {}


class SmallSide:
    """A table that was collected, broadcast, and is indexed once a worker."""

    def __init__(self, spark: SparkSession, table: pa.Table, make_index: Callable[[pa.Table], Any]) -> None:
        self._key = uuid.uuid4().hex
        self._broadcast = spark.sparkContext.broadcast(_to_bytes(table))
        self._make_index = make_index

    def index(self) -> Any:
        """In a worker: what `make_index` made of the table."""
        if self._key not in _indexes:
            while len(_indexes) >= _KEPT:
                _indexes.pop(next(iter(_indexes)))
            with pa.ipc.open_stream(self._broadcast.value) as reader:
                _indexes[self._key] = self._make_index(reader.read_all())
        return _indexes[self._key]


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in fewer, larger pieces."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS or size >= BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(held)


def chosen_columns(
    macro: str, side: str, columns: Any, known: list[str], default: list[str]
) -> dict[str, str]:
    """Names and their aliases, of a list, a mapping or none."""
    if columns is None:
        return {name: name for name in default}
    chosen = dict(columns) if isinstance(columns, dict) else {name: name for name in columns}
    for name in chosen:
        if name not in known:
            raise GeostrataError(
                f"{macro}: the {side} side has no column {name}; it has {', '.join(sorted(known))}"
            )
    return chosen


def check_no_clash(
    macro: str, left: dict[str, str], right: dict[str, str], own: tuple[str, ...] = ()
) -> None:
    """Every column of the outcome has a name of its own."""
    names = [*left.values(), *right.values(), *own]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GeostrataError(
            f"{macro}: {', '.join(twice)} would come twice; name the columns you want in left_columns and right_columns, "
            f"with another name where needed: right_columns={{'{twice[0]}': 'other_{twice[0]}'}}"
        )


def _to_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
