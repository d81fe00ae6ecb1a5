"""Does a value fit the declared type? If not, the column stays null and the value is rescued, as it was."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from geostrata.readers.json_values import Members, is_unicode, json_text, plain_text
from geostrata.readers.text import KEEP_BYTES

# What a fitter returns instead of a value.
MISFIT = object()
Fitter = Callable[[Any], Any]

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_NONZERO = re.compile(r"[^eE]*[1-9]")
_NOT_FINITE = {
    "NaN": math.nan,
    "nan": math.nan,
    "Infinity": math.inf,
    "Inf": math.inf,
    "inf": math.inf,
    "-Infinity": -math.inf,
    "-Inf": -math.inf,
    "-inf": -math.inf,
}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,]([0-9]+))? ?(Z|z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
# Longer than any number that fits a type: Decimal is not asked, it would take its time.
_LONGEST_NUMBER = 400
_EXACT_IN_DOUBLE = 2**53
_BOOLEANS = {"true": True, "false": False}


def fitter(kind: pa.DataType) -> Fitter:
    """For values of JSON, CSV and Arrow alike; None is never asked."""
    if pa.types.is_integer(kind):
        return _fit_integer(-(1 << (kind.bit_width - 1)), (1 << (kind.bit_width - 1)) - 1)
    if pa.types.is_float64(kind):
        return _fit_double
    if pa.types.is_float32(kind):
        return _fit_float
    if pa.types.is_decimal(kind):
        return _fit_decimal(kind.precision, kind.scale)
    if pa.types.is_boolean(kind):
        return _fit_boolean
    if pa.types.is_date(kind):
        return _fit_date
    if pa.types.is_timestamp(kind):
        return _fit_timestamp if kind.tz else _fit_local_timestamp
    if pa.types.is_binary(kind):
        return _fit_binary
    return _fit_string


def _fit_string(value: Any) -> Any:
    if isinstance(value, str):
        return value if is_unicode(value) else MISFIT
    if isinstance(value, bytes):
        return MISFIT
    if isinstance(value, Members | dict | list | bool):
        return _text_of(json_text(value))
    return _text_of(plain_text(value))


def _text_of(text: str) -> Any:
    return text if is_unicode(text) else MISFIT


def _fit_binary(value: Any) -> Any:
    if isinstance(value, bytes):
        return value
    if type(value) is not str:
        return MISFIT
    try:
        return value.encode()
    except UnicodeEncodeError:
        return MISFIT


def _fit_integer(low: int, high: int) -> Fitter:
    def fit(value: Any) -> Any:
        if isinstance(value, str):
            if _INTEGER.fullmatch(value):
                number = int(value)
            else:
                exact = _decimal(value)
                if exact is None or exact.adjusted() > 19 or exact != exact.to_integral_value():
                    return MISFIT
                number = int(exact)
        elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return MISFIT
        elif isinstance(value, int):
            number = value
        elif math.isfinite(value) and value == int(value):
            number = int(value)
        else:
            return MISFIT
        return number if low <= number <= high else MISFIT

    return fit


def _fit_double(value: Any) -> Any:
    """The nearest double of a decimal fraction, as everywhere; but an integer must come through exactly."""
    if isinstance(value, str):
        return _double_of_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return MISFIT
    try:
        number = float(value)
    except OverflowError:
        return MISFIT
    return MISFIT if isinstance(value, int) and int(number) != value else number


def _double_of_text(text: str) -> Any:
    if not _REAL.fullmatch(text):
        text = text.strip()
        if text in _NOT_FINITE:
            return _NOT_FINITE[text]
        if not _REAL.fullmatch(text):
            return MISFIT
    number = float(text)
    if math.isinf(number) or (number == 0 and _NONZERO.match(text)):
        return MISFIT
    if abs(number) >= _EXACT_IN_DOUBLE and _INTEGER.fullmatch(text) and int(text) != int(number):
        return MISFIT
    return number


def _fit_float(value: Any) -> Any:
    number = _fit_double(value)
    if number is MISFIT:
        return MISFIT
    try:
        rounded = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return MISFIT
    # Text has no width of its own; a double or an integer has, and would lose digits.
    is_exact = isinstance(value, str) or rounded == number or math.isnan(number)
    return rounded if is_exact else MISFIT


def _fit_decimal(precision: int, scale: int) -> Fitter:
    def fit(value: Any) -> Any:
        if isinstance(value, bool):
            return MISFIT
        if isinstance(value, float):
            exact = Decimal(repr(value))
        elif isinstance(value, int | Decimal):
            exact = Decimal(value)
        else:
            found = _decimal(value) if isinstance(value, str) else None
            if found is None:
                return MISFIT
            exact = found
        if not exact.is_finite():
            return MISFIT
        if exact.is_zero():
            return Decimal(0)
        _, digits, exponent = exact.as_tuple()
        kept = len(digits)
        while kept > 1 and digits[kept - 1] == 0:
            kept -= 1
        fraction = -(int(exponent) + len(digits) - kept)
        return exact if fraction <= scale and exact.adjusted() < precision - scale else MISFIT

    return fit


def _decimal(text: str) -> Decimal | None:
    text = text.strip()
    if len(text) > _LONGEST_NUMBER or not _REAL.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _fit_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if type(value) is str:
        return _BOOLEANS.get(value.strip().lower(), MISFIT)
    return MISFIT


def _fit_date(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.date() if value.time() == dt.time() and value.tzinfo is None else MISFIT
    if isinstance(value, dt.date):
        return value
    if type(value) is not str or not _DATE.fullmatch(value.strip()):
        return MISFIT
    try:
        return dt.date.fromisoformat(value.strip())
    except ValueError:
        return MISFIT


def _fit_timestamp(value: Any) -> Any:
    """Without a zone it is UTC, as everywhere in the lakehouse. A number could be seconds or milliseconds: no fit."""
    moment = _moment(value)
    if moment is None:
        return MISFIT
    try:
        return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
    except (OverflowError, ValueError):
        return MISFIT


def _fit_local_timestamp(value: Any) -> Any:
    moment = _moment(value)
    return MISFIT if moment is None or moment.tzinfo is not None else moment


def _moment(value: Any) -> dt.datetime | None:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001 - a date has no zone
    if type(value) is not str:
        return None
    match = _MOMENT.fullmatch(value.strip())
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    # Spark keeps microseconds: a value with more would be cut.
    if fraction and fraction[6:].strip("0"):
        return None
    text = f"{day}T{clock or '00:00'}"
    if fraction:
        if len(clock) == len("00:00"):
            return None
        text += f".{fraction[:6]:0<6}"
    if zone:
        text += "+00:00" if zone in ("Z", "z", "UTC") else zone
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None


def bytes_text(value: bytes) -> str:
    return value.decode("utf-8", errors=KEEP_BYTES)
