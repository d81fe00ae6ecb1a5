"""Landed values, numbers and error messages as short text that is safe to print."""

from __future__ import annotations

import math
import re

LIMIT = 200
_CUT = "…"
# Two hex digits a byte, after "0x" and before the mark of a cut.
_HEX_BYTES = (LIMIT - 3) // 2
# A UTF-8 character has at most four bytes.
_TEXT_BYTES = 4 * LIMIT
# What GEOS puts around its messages: the class of the error, and around those of its JSON parser.
_CLASS = re.compile(r"^\w+Exception: ")
_JSON = re.compile(r"^Error parsing JSON: '\[[\w.]+\] (.*)'$")


def printable(text: str) -> str:
    """One line of at most LIMIT characters; what has no picture (control characters, text direction) becomes U+FFFD."""
    cut = text[:LIMIT] if len(text) <= LIMIT else text[: LIMIT - 1] + _CUT
    return cut if cut.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in cut)


def binary_excerpt(value: bytes) -> str:
    """Upper-case hex digits of the first bytes."""
    if len(value) <= _HEX_BYTES:
        return "0x" + value.hex().upper()
    return "0x" + value[:_HEX_BYTES].hex().upper() + _CUT


def text_excerpt(value: bytes) -> str:
    text = value[:_TEXT_BYTES].decode("utf-8", errors="replace")
    return printable(text + _CUT if len(value) > _TEXT_BYTES else text)


def excerpt_of_unknown(value: bytes) -> str:
    """Text if it reads as text, digits otherwise."""
    is_text = bool(value) and not any(byte < 32 and byte not in b"\t\n\r" for byte in value[:_TEXT_BYTES])
    # A character may be cut in half at the end.
    decodes = "\ufffd" not in value[:_TEXT_BYTES].decode("utf-8", errors="replace")[:-1]
    return text_excerpt(value) if is_text and decodes else binary_excerpt(value)


def error_line(error: BaseException) -> str:
    """A library's message in one line, without the names of its classes."""
    text = _JSON.sub(r"\1", _CLASS.sub("", " ".join(str(error).split())))
    return printable(text.rstrip("!.") or type(error).__name__)


def number(value: float) -> str:
    """12 digits: a degree to the tenth of a millimetre, a metre to the micrometre."""
    return f"{value:.12g}"


def not_finite(x: float, y: float) -> str:
    name, value = ("y", y) if math.isfinite(x) else ("x", x)
    return f"coordinate {name} is {number(value)}, which is no place"


def extent(low: float, high: float) -> str:
    """Bounds of metres lose their decimals, outwards."""
    if high - low > 1000:
        low, high = math.floor(low), math.ceil(high)
    return f"{number(low)}..{number(high)}"
