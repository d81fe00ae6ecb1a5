"""Rows into Arrow batches of declared columns, for formats that are read record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from geostrata.readers.column_types import arrow_type
from geostrata.readers.errors import Refused
from geostrata.readers.fitting import MISFIT, fitter
from geostrata.readers.json_values import json_text
from geostrata.readers.limits import LIMITS
from geostrata.readers.spec import CORRUPT, CRS, EXTRAS, POSITION, RESCUED, SourceSpec
from geostrata.readers.text import printable


@dataclass(slots=True)
class Record:
    """One row to be: its fields, or the text that could not be read."""

    position: str
    fields: list[tuple[str, Any]] = field(default_factory=list)
    corrupt: str | None = None
    # About how much text it came from: bounds the bytes of a batch.
    chars: int = 0
    # Kept if undeclared, like any field, but not held to be new columns: a feature's `id` and `bbox`.
    members: list[tuple[str, Any]] = field(default_factory=list)


@dataclass
class Records:
    """A file being read. `crs` is known before the first record; `names` where the file has a header."""

    crs: str | None
    rows: Iterator[Record]
    names: list[str] | None = None


def output_schema(spec: SourceSpec) -> pa.Schema:
    fields = [pa.field(name, arrow_type(name, kind)) for name, kind in spec.declared.items()]
    return pa.schema([*fields, *(pa.field(name, pa.string()) for name in EXTRAS)])


class NameMatch:
    """File names to declared columns: as written, else without case and outer blanks, as Spark matches them."""

    def __init__(self, declared: Iterable[str]) -> None:
        self.exact = {name: at for at, name in enumerate(declared)}
        self.loose: dict[str, int] = {}
        for name, at in self.exact.items():
            self.loose.setdefault(name.strip().casefold(), at)

    def find(self, name: str) -> int | None:
        at = self.exact.get(name)
        return at if at is not None else self.loose.get(name.strip().casefold())


def batches(path: str, spec: SourceSpec, records: Records) -> Iterator[pa.RecordBatch]:
    builder = _Builder(path, spec, records.crs)
    for record in records.rows:
        builder.add(record)
        if builder.is_full:
            yield builder.take()
    builder.check_columns()
    if builder.rows:
        yield builder.take()


class _Builder:
    def __init__(self, path: str, spec: SourceSpec, crs: str | None) -> None:
        self._path, self._policy = path, spec.schema_policy
        self._crs = None if crs is None else printable(crs)
        self._schema = output_schema(spec)
        self._names = list(spec.declared)
        self._match = NameMatch(self._names)
        self._fitters = [fitter(self._schema.field(name).type) for name in self._names]
        self._seen: set[int] = set()
        self._has_record = False
        self._clear()

    def _clear(self) -> None:
        self._columns: list[list[Any]] = [[] for _ in self._names]
        self._positions: list[str] = []
        self._corrupt: list[str | None] = []
        self._rescued: list[str | None] = []
        self._chars = 0

    @property
    def rows(self) -> int:
        return len(self._positions)

    @property
    def is_full(self) -> bool:
        return self.rows >= LIMITS.batch_rows or self._chars >= LIMITS.batch_bytes

    def add(self, record: Record) -> None:
        values: list[Any] = [None] * len(self._names)
        corrupt, rescued = record.corrupt, None
        if corrupt is None:
            try:
                rescued = self._place(record, values)
                self._has_record = True
            except RecursionError:
                values = [None] * len(self._names)
                corrupt = f"{record.position}: nested too deep to be kept"
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        self._positions.append(record.position)
        self._corrupt.append(None if corrupt is None else printable(corrupt))
        self._rescued.append(rescued)
        # Lists of Python objects weigh more than the text they came from; a constant a row stands for that.
        self._chars += record.chars + 100

    def _place(self, record: Record, values: list[Any]) -> str | None:
        taken: set[int] = set()
        rescued: dict[str, Any] = {}
        loose: list[tuple[str, Any, bool]] = []
        exact, fitters = self._match.exact, self._fitters
        for is_member, fields in ((False, record.fields), (True, record.members)):
            for name, value in fields:
                at = exact.get(name)
                if at is None or at in taken:
                    loose.append((name, value, is_member))
                    continue
                taken.add(at)
                if value is not None:
                    fitted = fitters[at](value)
                    if fitted is MISFIT:
                        rescued[name] = value
                    else:
                        values[at] = fitted
        if loose:
            self._place_loose(record.position, loose, taken, values, rescued)
        self._seen |= taken
        return json_text(rescued) if rescued else None

    def _place_loose(
        self,
        position: str,
        loose: list[tuple[str, Any, bool]],
        taken: set[int],
        values: list[Any],
        rescued: dict[str, Any],
    ) -> None:
        """Fields that no column is spelled as: another spelling of one, or undeclared."""
        for name, value, is_member in loose:
            at = self._match.find(name)
            if at is not None and at not in taken:
                taken.add(at)
                fitted = None if value is None else self._fitters[at](value)
                if fitted is not MISFIT:
                    values[at] = fitted
                    continue
            elif at is None and not is_member and self._policy == "strict":
                raise new_column(self._path, name, position)
            if value is not None:
                # A name may come twice: as a property and as a member of the feature, or in two spellings of a column.
                rescued[f"feature.{name}" if name in rescued else name] = value

    def check_columns(self) -> None:
        """Records name their fields one by one: only the end of the file shows that one never came."""
        if self._policy != "rescue" and self._has_record:
            for at, name in enumerate(self._names):
                if at not in self._seen:
                    raise missing_column(self._path, name)

    def take(self) -> pa.RecordBatch:
        arrays = [
            pa.array(column, self._schema.field(name).type)
            for name, column in zip(self._names, self._columns, strict=True)
        ]
        extras = {
            POSITION: pa.array(self._positions, pa.string()),
            CRS: pa.repeat(pa.scalar(self._crs, pa.string()), self.rows),
            CORRUPT: pa.array(self._corrupt, pa.string()),
            RESCUED: pa.array(self._rescued, pa.string()),
        }
        batch = pa.RecordBatch.from_arrays([*arrays, *extras.values()], schema=self._schema)
        self._clear()
        return batch


def missing_column(path: str, name: str) -> Refused:
    return Refused(
        path, f"column {name} is missing; deliver it, drop it from the source, or set schema_policy: rescue"
    )


def new_column(path: str, name: str, position: str = "") -> Refused:
    where = f"{position}: " if position else ""
    return Refused(path, f"{where}column {name} is new; declare it, or set schema_policy: additive")
