"""Values and declared types: exact, or not at all."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geostrata.readers.column_types import arrow_type, spark_type
from geostrata.readers.fitting import MISFIT, fitter
from geostrata.readers.json_values import DECODER, Number, json_text


def fit(kind: str, value: Any) -> Any:
    return fitter(arrow_type("c", kind))(value)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("int", "2147483647", 2147483647),
        ("int", "2147483648", MISFIT),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("bigint", "9223372036854775808", MISFIT),
        ("bigint", "1e18", 10**18),
        ("bigint", "1e9999", MISFIT),
        ("bigint", "١٢", MISFIT),
        ("bigint", "", MISFIT),
        ("double", "9007199254740993", MISFIT),
        ("double", "9007199254740992", 2.0**53),
        ("double", "0.1", 0.1),
        ("double", "1e-400", MISFIT),
        ("double", "0e-400", 0.0),
        ("double", "1,5", MISFIT),
        ("float", "0.5", 0.5),
        ("float", "1e39", MISFIT),
        ("decimal(5,2)", "123.45", Decimal("123.45")),
        ("decimal(5,2)", "123.450", Decimal("123.450")),
        ("decimal(5,2)", "123.456", MISFIT),
        ("decimal(5,2)", "1234", MISFIT),
        ("decimal(5,2)", "0e9999", Decimal(0)),
        ("boolean", "TRUE", True),
        ("boolean", "1", MISFIT),
        ("date", "2024-02-29", dt.date(2024, 2, 29)),
        ("date", "2023-02-29", MISFIT),
        ("date", "20240229", MISFIT),
        ("timestamp", "2024-01-01", dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
        ("timestamp", "2024-01-01T12:00:00+05:30", dt.datetime(2024, 1, 1, 6, 30, tzinfo=dt.UTC)),
        (
            "timestamp",
            "2024-01-01 12:00:00.123456000Z",
            dt.datetime(2024, 1, 1, 12, 0, 0, 123456, tzinfo=dt.UTC),
        ),
        ("timestamp", "2024-01-01T12:00:00.1234567Z", MISFIT),
        ("timestamp", "2024-01-01T24:00:00Z", MISFIT),
        ("timestamp", "2024-01-01T12:00:60Z", MISFIT),
        ("timestamp", "0001-01-01T00:00:00+01:00", MISFIT),
        ("timestamp", "1704067200", MISFIT),
        ("timestamp_ntz", "2024-01-01T12:00", dt.datetime(2024, 1, 1, 12)),  # noqa: DTZ001
        ("timestamp_ntz", "2024-01-01T12:00Z", MISFIT),
        ("binary", "é", b"\xc3\xa9"),
        ("varchar(10)", "x", "x"),
    ],
)
def test_text(kind: str, text: str, expected: Any) -> None:
    found = fit(kind, text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("boolean", Number("1")),
        ("timestamp", Number("1704067200")),
        ("bigint", True),
        ("double", False),
        ("decimal(5,0)", True),
        ("bigint", 1.5),
        ("bigint", float("inf")),
        ("double", 2**53 + 1),
        ("double", 10**400),
        ("float", 0.1),
        ("decimal(5,2)", Decimal("NaN")),
        ("string", b"bytes"),
        ("binary", Number("1")),
        ("date", dt.datetime(2024, 1, 1, 5, tzinfo=dt.UTC)),
        ("bigint", [1]),
    ],
)
def test_values_of_another_kind(kind: str, value: Any) -> None:
    assert fit(kind, value) is MISFIT


KINDS = (
    "bigint",
    "int",
    "double",
    "float",
    "decimal(9,3)",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
    "binary",
    "string",
)
VALUES = st.one_of(
    st.text(),
    st.text("0123456789-+.eETZ: ", max_size=30),
    st.integers(),
    st.floats(),
    # As Arrow has them: 76 digits at most, and no NaN.
    st.decimals(min_value=-(10**70), max_value=10**70, allow_nan=False, places=5),
    st.binary(),
    st.booleans(),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,4})?", fullmatch=True).map(
        Number
    ),
    st.lists(st.none() | st.text() | st.integers()),
)


@given(VALUES, st.sampled_from(KINDS))
def test_what_fits_goes_into_arrow(value: Any, kind: str) -> None:
    """And what does not, into JSON."""
    found = fit(kind, value)
    if found is MISFIT:
        json.loads(json_text(value))
        json_text({"c": value}).encode()
    else:
        array = pa.array([found], arrow_type("c", kind))
        array.validate(full=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON)
def test_json_comes_through_unchanged(value: Any) -> None:
    assert json.loads(json_text(DECODER.decode(json.dumps(value)))) == value
    assert json.loads(json_text(value)) == value


@pytest.mark.parametrize(
    "kind",
    [
        "string",
        "bigint",
        "int",
        "double",
        "float",
        "boolean",
        "date",
        "timestamp",
        "timestamp_ntz",
        "binary",
        "decimal(7,3)",
    ],
)
def test_types_there_and_back(kind: str) -> None:
    assert spark_type(arrow_type("c", kind)) == kind
