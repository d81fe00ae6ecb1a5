"""Names and text as Spark SQL writes them, and as a terminal may show them: the one place that quotes.

A module of its own, outside the adapter's package, because importing that one brings in all of dbt.
"""

from __future__ import annotations

import re

# Controls, separators of lines, and signs that change the direction of what follows.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def identifier(name: str) -> str:
    """A name in backticks. One of its own is doubled, so that no name ends the quotes."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Text in single quotes. Spark reads a backslash as the begin of an escape."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def printable(text: str) -> str:
    """Text that may hold anything, for a terminal or a log: signs that would steer it are written as escapes."""
    return _UNPRINTABLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
