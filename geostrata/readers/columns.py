"""Arrow columns of a file to declared columns, for formats that come in Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from geostrata.readers.column_types import is_bytes, is_text, spark_type
from geostrata.readers.errors import Refused
from geostrata.readers.fitting import MISFIT, bytes_text, fitter
from geostrata.readers.json_values import json_text
from geostrata.readers.limits import beyond
from geostrata.readers.rows import NameMatch, checked_crs, missing_column, new_column, output_schema
from geostrata.readers.spec import SourceSpec

_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}


class ColumnPlan:
    """Which column of the file goes where; made once a file, and where the schema policy is applied."""

    def __init__(
        self, path: str, spec: SourceSpec, names: Sequence[str], types: Sequence[pa.DataType]
    ) -> None:
        if len(names) > spec.limits.columns:
            raise Refused(path, beyond("columns", f"it has {len(names):,} columns"))
        self._path, self._schema = path, output_schema(spec)
        declared = list(spec.declared)
        match = NameMatch(declared)
        self._source: dict[int, int] = {}
        for at, name in enumerate(names):
            if name in match.exact:
                self._source.setdefault(match.exact[name], at)
        taken = set(self._source.values())
        for at, name in enumerate(names):
            found = match.find(name)
            if found is not None and at not in taken:
                self._source.setdefault(found, at)
        self._names, self._declared = list(names), declared
        used = set(self._source.values())
        self._others = [at for at in range(len(names)) if at not in used]
        if spec.schema_policy != "rescue":
            self._check(path, spec, types)

    def _check(self, path: str, spec: SourceSpec, types: Sequence[pa.DataType]) -> None:
        for at, name in enumerate(self._declared):
            if name in spec.optional:
                continue
            if at not in self._source:
                raise missing_column(path, name)
            kind = types[self._source[at]]
            if not widens(kind, self._schema.field(name).type):
                raise Refused(
                    path,
                    f"column {name} is {spark_type(kind)} in the file and {spec.columns[name]} in the source; "
                    "change the declared type, or set schema_policy: rescue",
                )
        if self._others and spec.schema_policy == "strict":
            raise new_column(path, self._names[self._others[0]])

    def fit(self, columns: Sequence[pa.Array], positions: pa.Array, crs: str | None) -> pa.RecordBatch:
        rows = len(positions)
        rescued: dict[int, dict[str, Any]] = {}
        arrays = []
        for at, name in enumerate(self._declared):
            kind = self._schema.field(name).type
            if at not in self._source:
                arrays.append(pa.nulls(rows, kind))
                continue
            source = self._source[at]
            arrays.append(_fit_column(columns[source], kind, self._names[source], rescued))
        for at in self._others:
            for row, value in enumerate(python_values(columns[at])):
                if value is not None:
                    rescued.setdefault(row, {})[self._names[at]] = value
        texts = [json_text(rescued[row]) if row in rescued else None for row in range(rows)]
        extras = [
            positions,
            pa.repeat(pa.scalar(None if crs is None else checked_crs(self._path, crs), pa.string()), rows),
            pa.nulls(rows, pa.string()),
            pa.array(texts, pa.string()),
        ]
        return pa.RecordBatch.from_arrays([*arrays, *extras], schema=self._schema)


def widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Every value of the one type is a value of the other."""
    source = _storage_type(source)
    if pa.types.is_null(source) or source == target:
        return True
    if pa.types.is_integer(source):
        return _integer_widens(source, target)
    if pa.types.is_floating(source):
        return pa.types.is_floating(target) and target.bit_width >= source.bit_width
    if pa.types.is_decimal(source):
        whole = source.precision - source.scale
        return (
            pa.types.is_decimal(target)
            and target.precision - target.scale >= whole
            and target.scale >= source.scale
        )
    if pa.types.is_timestamp(source):
        return pa.types.is_timestamp(target) and (bool(target.tz) or not source.tz)
    if pa.types.is_date(source):
        return pa.types.is_date(target) or pa.types.is_timestamp(target)
    if is_bytes(source):
        return bool(pa.types.is_binary(target))
    if is_text(source) or pa.types.is_nested(source) or pa.types.is_time(source):
        return bool(pa.types.is_string(target))
    return False


def _integer_widens(source: pa.DataType, target: pa.DataType) -> bool:
    bits = source.bit_width + (1 if pa.types.is_unsigned_integer(source) else 0)
    if pa.types.is_integer(target):
        return bool(bits <= target.bit_width)
    if pa.types.is_floating(target):
        return bits <= (53 if target.bit_width == 64 else 24)
    if pa.types.is_decimal(target):
        return bool(target.precision - target.scale >= _DIGITS[source.bit_width])
    return False


def _storage_type(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _storage_type(kind.storage_type)
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def storage(array: pa.Array) -> pa.Array:
    """Without extension type and dictionary: what the values are."""
    if isinstance(array.type, pa.BaseExtensionType):
        return storage(array.storage)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _fit_column(
    column: pa.Array, kind: pa.DataType, name: str, rescued: dict[int, dict[str, Any]]
) -> pa.Array:
    """The whole column at once where that loses nothing, else value by value."""
    try:
        array = storage(column)
        if _can_cast(array.type, kind):
            cast = array.cast(kind)
            # Files may hold any bytes in a text column; Arrow and Spark would fail on them much later.
            cast.validate(full=True)
            return cast
    except (pa.ArrowException, ValueError, OverflowError):
        pass
    fit: Callable[[Any], Any] = fitter(kind)
    values: list[Any] = []
    for row, value in enumerate(python_values(column)):
        fitted = None if value is None else fit(value)
        if fitted is MISFIT:
            rescued.setdefault(row, {})[name] = value
            fitted = None
        values.append(fitted)
    return pa.array(values, kind)


def _can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Arrow checks range and exactness of these itself, and raises."""
    if widens(source, target):
        return not pa.types.is_nested(source)
    return pa.types.is_integer(source) and (pa.types.is_integer(target) or pa.types.is_float64(target))


def python_values(column: pa.Array) -> list[Any]:
    """Values that neither raise nor round: text may not be UTF-8, and Python knows no nanoseconds."""
    array = storage(column)
    kind = array.type
    if is_text(kind):
        binary = array.cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
        return [None if value is None else bytes_text(value) for value in binary.to_pylist()]
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return _nanosecond_texts(array)
    try:
        return list(array.to_pylist())
    except (ValueError, OverflowError, pa.ArrowException):
        return [_python_value(scalar) for scalar in array]


def _nanosecond_texts(array: pa.Array) -> list[Any]:
    texts = pc.cast(array.cast(pa.timestamp("ns")), pa.string()).to_pylist()
    # With a zone Arrow keeps UTC inside, and the zone for show only.
    return [None if text is None else f"{text}Z" if array.type.tz else text for text in texts]


def _python_value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return str(getattr(scalar, "value", scalar))
