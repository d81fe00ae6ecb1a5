"""Pieces of YAML as this project writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import yaml

_PLAIN = re.compile(r"[A-Za-z_<][\w.<>/: ;+-]*")


def scalar(text: str) -> str:
    """Bare where YAML reads the same text back, in a flow mapping as well; quoted otherwise."""
    if (
        _PLAIN.fullmatch(text)
        and ": " not in text
        and not text.endswith((" ", ":"))
        and yaml.safe_load(text) == text
    ):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)


def doc(block: str) -> str:
    """A description that stands in docs/blocks/columns.md."""
    return f"'{{{{ doc(\"{block}\") }}}}'"


def indented(lines: Iterable[str], depth: int) -> str:
    return "".join(f"{' ' * depth}{line}\n" if line else "\n" for line in lines)
