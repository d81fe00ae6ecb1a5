"""JSON in and out without losing a digit: numbers keep their text, repeated keys are all kept."""

from __future__ import annotations

import datetime as dt
import json
import json.encoder
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any


class Number(str):
    """A number as it was written. Converted only to a declared type: 64 bits are not enough for every integer."""

    __slots__ = ()


class Constant(str):
    """NaN, Infinity or -Infinity: not JSON, but written by many programs."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """An object's members in order, each name once."""

    __slots__ = ()


def members(pairs: Iterable[tuple[str, Any]]) -> Members:
    """Of a repeated key the last value counts, as in most readers; earlier ones become key#1, key#2, ..."""
    found = Members(pairs)
    if len({name for name, _ in found}) == len(found):
        return found
    last = {name: at for at, (name, _) in enumerate(found)}
    taken = set(last)
    count: dict[str, int] = {}
    for at, (name, value) in enumerate(found):
        if last[name] != at:
            count[name] = count.get(name, 0) + 1
            found[at] = (free_name(f"{name}#{count[name]}", taken), value)
    return found


def free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "#"
    taken.add(name)
    return name


# strict=False: a raw tab or line feed inside a string is wrong JSON, yet there is no doubt what was meant.
DECODER = json.JSONDecoder(
    strict=False, parse_int=Number, parse_float=Number, parse_constant=Constant, object_pairs_hook=members
)


def json_text(value: Any) -> str:
    """JSON of a parsed value, or of one out of Arrow. What JSON has no word for becomes text."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, Number):
        return str.__str__(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Members):
        return _object(value)
    if isinstance(value, dict):
        return _object((str(name), inner) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return f"[{','.join(json_text(inner) for inner in value)}]"
    return _scalar(value)


def _object(pairs: Iterable[tuple[str, Any]]) -> str:
    return f"{{{','.join(f'{quoted(name)}:{json_text(value)}' for name, value in pairs)}}}"


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else quoted(plain_text(value))
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else quoted(str(value))
    if isinstance(value, int):
        return str(value)
    return quoted(plain_text(value))


def plain_text(value: Any) -> str:
    """A scalar as text."""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"0x{bytes(value).hex()}"
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value)


def quoted(text: str) -> str:
    """Readable where possible; a half of a surrogate pair, or a byte that was no text, needs the escape."""
    return (
        json.encoder.encode_basestring(text)
        if is_unicode(text)
        else json.encoder.encode_basestring_ascii(text)
    )


def is_unicode(text: str) -> bool:
    """False with a lone surrogate in it: no UTF-8 can be made of that, in Arrow or in Spark."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
