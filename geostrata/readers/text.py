"""Bytes to text: encodings, byte order marks, bytes that are no text, and lines."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from geostrata.errors import GeostrataError
from geostrata.readers.limits import LIMITS, beyond

# Longest first: UTF-32's mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ESCAPED = re.compile("[\udc00-\udcff]")
KEEP_BYTES = "geostrata.keep_bytes"


def _keep_bytes(error: UnicodeError) -> tuple[str, int]:
    """Each undecodable byte becomes U+DC00 plus itself. Python's own surrogateescape gives up below 128,
    which UTF-16 needs."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(chr(0xDC00 + byte) for byte in bad), error.end


codecs.register_error(KEEP_BYTES, _keep_bytes)


def printable(text: str) -> str:
    """For `_corrupt_record`: always valid UTF-8, bytes that were no text as \\xNN."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _ESCAPED.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)
        return text.encode(errors="backslashreplace").decode()
    return text


def encoding_of(first_bytes: bytes, option: str | None) -> str:
    """A byte order mark is believed before the option: it is in the file."""
    for mark, name in _MARKS:
        if first_bytes.startswith(mark):
            return name
    name = option or "utf-8"
    try:
        if "\n".encode(name).decode(name) != "\n":
            raise LookupError
    except (LookupError, UnicodeError):
        raise GeostrataError(f"source: option encoding must name a text encoding, got {name!r}") from None
    return name


def text_stream(stream: BinaryIO, option: str | None) -> io.TextIOWrapper:
    """Lines end at \\n, \\r or \\r\\n and keep their ends, since a quoted field may hold them."""
    buffered = io.BufferedReader(stream, LIMITS.chunk_bytes)  # type: ignore[type-var]
    encoding = encoding_of(buffered.peek(4)[:4], option)
    return io.TextIOWrapper(buffered, encoding, errors=KEEP_BYTES, newline="")


def lines(text: io.TextIOWrapper, longest: int) -> Iterator[tuple[int, str, int]]:
    """Number from 1, the line with its end, and how many characters were cut off an endless one."""
    number = 0
    while line := text.readline(longest):
        number += 1
        cut = 0
        if len(line) >= longest and not line.endswith(("\n", "\r")):
            cut = len(line) - LIMITS.excerpt_chars
            line = line[: LIMITS.excerpt_chars]
            while rest := text.readline(LIMITS.chunk_bytes):
                cut += len(rest)
                if rest.endswith(("\n", "\r")):
                    break
        yield number, line, cut


def excerpt(line: str, cut: int) -> str:
    return f"{line} ... " + beyond("record_bytes", f"and {cut} more characters: too long for a record")
