"""Conditions that every SQL engine understands alike: columns of numbers, compared with numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_COMPARISON = re.compile(
    rf"([a-z_]\w*(?:\.[a-z_]\w*)*)\s*(?:(?:<=|>=|<|>|=)\s*({_NUMBER})(?![\w.])|between\s+({_NUMBER})\s+and\s+({_NUMBER})(?![\w.]))",
    re.IGNORECASE,
)
# What may be left once every comparison is replaced by a question mark.
_FRAME = re.compile(r"[\s()]*\?(?:[\s()]+(?:and|or)[\s()]+\?)*[\s()]*", re.IGNORECASE)
_WHOLE_NUMBERS = ("byte", "short", "integer", "long")


def is_plain(condition: str, types: Mapping[str, str]) -> bool:
    """True if it is made of comparisons, `and`, `or` and brackets. `types` are Delta's names of them by column, `bbox.xmin` for a
    field; whole numbers may be compared with whole numbers only, since engines round in different ways."""
    found = list(_COMPARISON.finditer(condition))
    if not _FRAME.fullmatch(_COMPARISON.sub("?", condition)):
        return False
    return all(_is_alike(types.get(match[1]), match.groups()[1:]) for match in found)


def types_of(schema: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """The columns of a Delta schema, as its JSON has them, and the fields of those that are structs."""
    found: dict[str, str] = {}
    for field in schema["fields"]:
        kind, name = field["type"], prefix + field["name"]
        if isinstance(kind, str):
            found[name] = kind
        elif kind["type"] == "struct":
            found |= types_of(kind, f"{name}.")
    return found


def _is_alike(kind: str | None, numbers: tuple[str | None, ...]) -> bool:
    if kind in _WHOLE_NUMBERS:
        return all(number is None or number.lstrip("-").isdigit() for number in numbers)
    return kind == "double"
