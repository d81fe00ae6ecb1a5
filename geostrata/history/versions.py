"""Which version of a table a number or a time means. From the versions that its log still has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from geostrata.errors import GeostrataError


@dataclass(frozen=True)
class Version:
    number: int
    committed_at: datetime


def history_sql(table: str) -> str:
    """Its commits. Quoted: Delta takes a schema of the name `history` for a word of its own."""
    parts = [part.strip("`") for part in table.split(".")]
    return f"describe history {'.'.join(f'`{part}`' for part in parts)}"


def by_number(macro: str, table: str, known: list[Version], number: object) -> int:
    first, last = known[0].number, known[-1].number
    if isinstance(number, bool) or not isinstance(number, int):
        raise GeostrataError(f"{macro}: a version is a whole number, got {number!r}")
    if number not in {version.number for version in known}:
        raise GeostrataError(
            f"{macro}: {table} has no version {number}; its log has {first} to {last}. "
            f"They are listed by: describe history {table}"
        )
    return number


def by_time(macro: str, table: str, known: list[Version], text: str, now: datetime) -> int:
    """The version that counted at that time: the last one that was committed by then."""
    moment = _parsed(macro, text)
    if moment > now:
        raise GeostrataError(f"{macro}: {_told(moment)} is yet to come; it is now {_told(now)}")
    by_then = [version.number for version in known if version.committed_at <= moment]
    if not by_then:
        raise GeostrataError(
            f"{macro}: the log of {table} begins at {_told(known[0].committed_at)} with version "
            f"{known[0].number}; there is none of {_told(moment)}"
        )
    return by_then[-1]


def _parsed(macro: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise GeostrataError(
            f"{macro}: a timestamp is written 2026-01-31 or 2026-01-31 17:30:00 (UTC), got {text!r}"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _told(moment: datetime) -> str:
    return f"{moment.astimezone(UTC).isoformat(' ', 'milliseconds').removesuffix('+00:00')} UTC"
