"""Columns of a table down to the fields of structs, each with its type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

# Types for which Delta keeps the least and the greatest value of a file.
_SKIPPING = re.compile(
    r"(tinyint|byte|smallint|short|int|integer|bigint|long|float|double|decimal.*|date|timestamp|timestamp_ntz|string"
    r"|(var)?char.*)"
)


def leaves(schema: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Of a schema as Delta and Spark write it in JSON: {'h3': 'long', 'bbox.xmin': 'double', ...}; of a struct, its fields."""
    found: dict[str, str] = {}
    for column in schema["fields"]:
        name, kind = prefix + quoted(column["name"]), column["type"]
        if isinstance(kind, str):
            found[name] = kind
        elif kind["type"] == "struct":
            found |= leaves(kind, f"{name}.")
        else:
            found[name] = str(kind["type"])
    return found


def leaves_of_json(text: str) -> dict[str, str]:
    return leaves(json.loads(text))


def quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


def has_statistics(kind: str) -> bool:
    """True if Delta can leave out files by a column of this type."""
    return _SKIPPING.fullmatch(kind) is not None


def is_text(kind: str) -> bool:
    return kind == "string" or "char" in kind


def find(name: str, columns: Mapping[str, str]) -> str | None:
    """The column's name as the table writes it: Spark does not tell upper from lower case."""
    wanted = name.replace("`", "").lower()
    return next((column for column in columns if column.replace("`", "").lower() == wanted), None)
