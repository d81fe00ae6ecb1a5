"""Text of others (names of files, layers and columns, words of libraries) as one line that a terminal shows and does not obey."""

from __future__ import annotations

import dbt_sedona_text

# Longer than any name that a person reads to its end.
_LONGEST = 1000


def printable(text: str) -> str:
    """Control characters, changes of text direction, line ends and bytes that are no UTF-8 as escapes: \\x1b, \\u202e, \\udcff."""
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return dbt_sedona_text.printable(text).replace("\n", "\\n").replace("\t", "\\t")
