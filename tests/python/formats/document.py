"""The parts of docs/formats.md that tests write: what was found, between two marks."""

from __future__ import annotations

import os
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "formats.md"
# Set to 1, the part is written anew instead of compared.
UPDATE_VARIABLE = "GEOSTRATA_UPDATE_DOCS"


def assert_is_in_the_document(part: str, content: str) -> None:
    begin, end = f"<!-- {part}: begin -->\n", f"<!-- {part}: end -->\n"
    head, rest = DOCUMENT.read_text(encoding="utf-8").split(begin)
    _, tail = rest.split(end)
    now = head + begin + content + end + tail
    if os.environ.get(UPDATE_VARIABLE) == "1":
        DOCUMENT.write_text(now, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == now, f"{UPDATE_VARIABLE}=1 writes the table anew"
