"""Rows into Arrow batches of declared columns, for formats that are read record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from geostrata.readers.column_types import arrow_type
from geostrata.readers.errors import Refused
from geostrata.readers.fitting import MISFIT, fitter
from geostrata.readers.json_values import json_text
from geostrata.readers.limits import LIMITS, beyond
from geostrata.readers.spec import CORRUPT, CRS, EXTRAS, POSITION, RESCUED, SourceSpec
from geostrata.readers.text import printable

# Records with the same names in the same order share a layout. Where each record has its own, remembering would not help.
_KNOWN_LAYOUTS = 1000


@dataclass(slots=True)
class Record:
    """One row to be: its fields, or the text that could not be read."""

    position: str
    names: tuple[str, ...] = ()
    values: Sequence[Any] = ()
    corrupt: str | None = None
    # About how much text it came from: bounds the bytes of a batch.
    chars: int = 0
    # The last ones are no columns of their own, and so never new ones: a feature's `id` and `bbox`. Undeclared, they are
    # kept like any field.
    members: int = 0


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


@dataclass(frozen=True, slots=True)
class _Layout:
    # The column of each field, -1 for none.
    targets: list[int]
    # Its name if it must be rescued.
    labels: list[str]


class _Builder:
    def __init__(self, path: str, spec: SourceSpec, crs: str | None) -> None:
        self._path, self._policy, self._most = path, spec.schema_policy, spec.limits.columns
        self._crs = None if crs is None else checked_crs(path, crs)
        self._schema = output_schema(spec)
        self._names = list(spec.declared)
        self._optional = set(spec.optional)
        self._match = NameMatch(self._names)
        self._fitters = [fitter(self._schema.field(name).type) for name in self._names]
        self._seen: set[int] = set()
        self._layouts: dict[tuple[tuple[str, ...], int], _Layout] = {}
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
        if corrupt is None and len(record.names) > self._most:
            corrupt = beyond("columns", f"{record.position}: a record of {len(record.names):,} fields")
        elif corrupt is None:
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
        key = (record.names, record.members)
        layout = self._layouts.get(key) or self._layout(record)
        rescued: dict[str, Any] = {}
        fitters = self._fitters
        for at, value, label in zip(layout.targets, record.values, layout.labels, strict=True):
            if value is None:
                continue
            if at >= 0:
                fitted = fitters[at](value)
                if fitted is not MISFIT:
                    values[at] = fitted
                    continue
            rescued[label] = value
        return json_text(rescued) if rescued else None

    def _layout(self, record: Record) -> _Layout:
        """Where the fields of such a record go. Made once for all records with the same names."""
        names = record.names
        found = [self._match.exact.get(name, -1) for name in names]
        taken = {at for at in found if at >= 0}
        if len(taken) < sum(at >= 0 for at in found):
            # A property and a member of one name: the property is the column.
            found = [at if is_first else -1 for at, is_first in zip(found, _firsts(found), strict=True)]
        for place, name in enumerate(names):
            at = self._match.find(name)
            if found[place] < 0 and at is not None and at not in taken:
                taken.add(at)
                found[place] = at
            elif at is None and self._policy == "strict" and place < len(names) - record.members:
                raise new_column(self._path, name, record.position)
        labels = [
            name if is_first else f"feature.{name}"
            for name, is_first in zip(names, _firsts(names), strict=True)
        ]
        self._seen |= taken
        if len(self._layouts) >= _KNOWN_LAYOUTS:
            self._layouts.clear()
        layout = self._layouts[names, record.members] = _Layout(found, labels)
        return layout

    def check_columns(self) -> None:
        """Records name their fields one by one: only the end of the file shows that one never came."""
        if self._policy != "rescue" and self._has_record:
            for at, name in enumerate(self._names):
                if at not in self._seen and name not in self._optional:
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


def _firsts(items: Iterable[Any]) -> Iterator[bool]:
    """Of each item whether it is the first of its kind."""
    seen = set()
    for item in items:
        yield item not in seen
        seen.add(item)


def checked_crs(path: str, crs: str) -> str:
    """Every row carries it: a megabyte of it would be four gigabytes a batch."""
    if len(crs) > LIMITS.crs_chars:
        raise Refused(path, f"the text of its CRS has {len(crs):,} characters; declare the CRS by its code")
    return printable(crs)


def missing_column(path: str, name: str) -> Refused:
    return Refused(
        path, f"column {name} is missing; deliver it, drop it from the source, or set schema_policy: rescue"
    )


def new_column(path: str, name: str, position: str = "") -> Refused:
    where = f"{position}: " if position else ""
    return Refused(path, f"{where}column {name} is new; declare it, or set schema_policy: additive")
