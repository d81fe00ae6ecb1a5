"""Spark SQL types as Arrow types, and back."""

from __future__ import annotations

import re

import pyarrow as pa

from geostrata.errors import GeostrataError

_PLAIN = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
}
_DECIMAL = re.compile(r"decimal\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_TEXT = re.compile(r"(?:varchar|char)\s*\(\s*\d+\s*\)|(?:struct|array|map)\s*<.*>|variant", re.DOTALL)


def arrow_type(column: str, spark_type: str) -> pa.DataType:
    """Nested types travel as JSON text: Spark's from_json takes it from there."""
    text = spark_type.strip().lower()
    if text in _PLAIN:
        return _PLAIN[text]
    if match := _DECIMAL.fullmatch(text):
        precision, scale = int(match[1] or 10), int(match[2] or 0)
        if 1 <= precision <= 38 and scale <= precision:
            return pa.decimal128(precision, scale)
    if _TEXT.fullmatch(text):
        return pa.string()
    allowed = ", ".join(sorted(_PLAIN))
    raise GeostrataError(
        f"column {column}: type must be one of {allowed}, decimal(p,s), struct, array; got {spark_type!r}"
    )


def spark_type(kind: pa.DataType) -> str:
    """The Spark type that holds every value of an Arrow type, exactly."""
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return spark_type(kind.storage_type)
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return _integer(kind)
    if pa.types.is_floating(kind):
        return "double" if kind.bit_width == 64 else "float"
    if pa.types.is_decimal(kind):
        fits = kind.precision <= 38 and 0 <= kind.scale <= kind.precision
        return f"decimal({kind.precision},{kind.scale})" if fits else "string"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        # Spark keeps microseconds. Whether any value has more can't be seen from the type: such values are rescued.
        return "timestamp" if kind.tz else "timestamp_ntz"
    if is_bytes(kind):
        return "binary"
    return "string"


def _integer(kind: pa.DataType) -> str:
    if pa.types.is_uint64(kind):
        return "decimal(20,0)"
    bits = kind.bit_width + (1 if pa.types.is_unsigned_integer(kind) else 0)
    return "int" if bits <= 32 else "bigint"


def is_bytes(kind: pa.DataType) -> bool:
    return (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
