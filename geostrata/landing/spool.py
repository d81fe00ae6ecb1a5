"""Keeps the rows of a file until it is known that the file is whole."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import pyarrow as pa

# Up to here in memory; a larger file goes through the worker's temporary folder.
MEMORY_BYTES = 32 << 20


class Spool:
    """Batches of one schema in, the same batches out; on disk beyond a size."""

    def __init__(self, schema: pa.Schema, memory_bytes: int = MEMORY_BYTES) -> None:
        self._schema = schema
        self._memory_bytes = memory_bytes
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._file: Any = None
        self._writer: Any = None
        self.rows = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        if self._writer is None and self._bytes + batch.nbytes <= self._memory_bytes:
            self._held.append(batch)
            self._bytes += batch.nbytes
            return
        if self._writer is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed in __exit__
            self._writer = pa.ipc.new_stream(self._file, self._schema)
            for held in self._held:
                self._writer.write_batch(held)
            self._held = []
        self._writer.write_batch(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        if self._writer is None:
            yield from self._held
            return
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)
