"""Names and types that SQL takes as they are: what a file may bring into a table without anybody having looked at it."""

from __future__ import annotations

import re
from collections import Counter

# What the SQL of this project can't have as a bare name (sqlfluff's reserved words of Spark; a test compares them).
RESERVED = frozenset(
    """
    all and any as authorization both case cast check collate column constraint create cross current_date current_time
    current_timestamp current_user else end escape except false fetch filter for foreign from full grant group having in inner
    intersect into is join leading natural not null on only or order outer overlaps primary references select session_user some
    table then to trailing union unique unknown user using when where with
    """.split()  # noqa: SIM905  # a list literal would be a word a line
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Hive's metastore takes no longer one.
_LONGEST = 128
_TYPE = re.compile(r"[a-z][A-Za-z0-9_<>(),: ]*")
_FIELD = re.compile(r"(\w+):")


def is_plain(name: str) -> bool:
    return bool(_PLAIN.fullmatch(name))


def is_admitted(name: str) -> bool:
    """As a new column of a table. Those that begin with _ are ours."""
    return is_plain(name) and name[0] != "_" and name.lower() not in RESERVED and len(name) <= _LONGEST


def is_plain_type(kind: str) -> bool:
    """Fields of a struct are named in the type, and have to be as plain as columns; none twice, at whatever depth."""
    fields = Counter(name.lower() for name in _FIELD.findall(kind))
    return bool(_TYPE.fullmatch(kind)) and all(
        is_plain(name) and name not in RESERVED and count == 1 for name, count in fields.items()
    )
