"""Pieces of YAML as this project writes it, from text that may hold anything.

Each value passes three readers: YAML, dbt, which renders values as Jinja, and SQL. `scalar` keeps it whole through the first, and refuses what
the second would evaluate; see `naming.in_sql` and `dbt_sedona_text` for the third.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import yaml

from dbt_sedona_text import printable
from geostrata.errors import GeostrataError

_JINJA = ("{{", "{%", "{#")
_PLAIN = re.compile(r"[A-Za-z_<][\w.<>/: ;+-]*")


def scalar(text: str) -> str:
    """Bare where YAML reads the same text back, in a flow mapping as well; quoted otherwise."""
    check_no_jinja(text)
    if (
        _PLAIN.fullmatch(text)
        and ": " not in text
        and not text.endswith((" ", ":"))
        and yaml.safe_load(text) == text
    ):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return quoted(text)


def quoted(text: str) -> str:
    """In double quotes, on one line, whatever it holds."""
    # Not as JSON: YAML would read a sign beyond 16 bits as two.
    return str(yaml.safe_dump(text, default_style='"', width=float("inf"))).removesuffix("\n")


def comment(text: str) -> str:
    """For a line that YAML skips: text that can't end it."""
    return printable(" ".join(text.split()))


def check_no_jinja(text: str) -> None:
    """dbt renders most values of YAML, and no quotes keep it from that."""
    if any(sign in text for sign in _JINJA):
        raise GeostrataError(
            f"{printable(text)[:200]}: dbt would take its brackets for Jinja. Rename it in the files."
        )
    if "\r" in text or text.endswith("\n"):
        # Jinja makes another sign of the one, and drops the other.
        raise GeostrataError(
            f"{printable(text)[:200]}: dbt would not keep its line ends. Rename it in the files."
        )
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise GeostrataError(f"{printable(text)[:200]}: it is no UTF-8. Rename it in the files.")


def doc(block: str) -> str:
    """A description that stands in docs/blocks/columns.md."""
    return f"'{{{{ doc(\"{block}\") }}}}'"


def indented(lines: Iterable[str], depth: int) -> str:
    return "".join(f"{' ' * depth}{line}\n" if line else "\n" for line in lines)
