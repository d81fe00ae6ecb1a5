"""Which version a number or a time means, and what is said where there is none. No Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from geostrata.errors import GeostrataError
from geostrata.history.commits import Author, author_of
from geostrata.history.versions import Version, by_number, by_time

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
# Version 0 and 1 are no longer in the log.
KNOWN = [Version(2 + hours, NOON + timedelta(hours=hours)) for hours in range(4)]
NOW = NOON + timedelta(days=1)


def test_a_version_that_the_log_has() -> None:
    assert [by_number("diff", "silver.parcels", KNOWN, number) for number in (2, 5)] == [2, 5]


@pytest.mark.parametrize("number", [1, 6, -1])
def test_a_version_that_it_has_not(number: int) -> None:
    said = f"diff: silver.parcels has no version {number}; its log has 2 to 5"
    with pytest.raises(GeostrataError, match=said):
        by_number("diff", "silver.parcels", KNOWN, number)


@pytest.mark.parametrize("number", [True, 1.5, None])
def test_what_is_no_version(number: object) -> None:
    with pytest.raises(GeostrataError, match="diff: a version is a whole number, got"):
        by_number("diff", "silver.parcels", KNOWN, number)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2026-01-31 12:00:00", 2),
        ("2026-01-31 12:59:59.999", 2),
        ("2026-01-31T13:00:00Z", 3),
        ("2026-01-31 14:00:00+01:00", 3),
        ("2026-02-01", 5),
    ],
)
def test_the_version_that_counted_at_a_time(text: str, version: int) -> None:
    assert by_time("ref_as_of", "silver.parcels", KNOWN, text, NOW) == version


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "2026-01-31",
            "ref_as_of: the log of silver.parcels begins at 2026-01-31 12:00:00.000 UTC with version 2; "
            "there is none of 2026-01-31 00:00:00.000 UTC",
        ),
        ("2030-01-01", "is yet to come; it is now 2026-02-01 12:00:00.000 UTC"),
        ("yesterday", "a timestamp is written 2026-01-31 or 2026-01-31 17:30:00 .UTC., got 'yesterday'"),
    ],
)
def test_a_time_without_a_version(text: str, said: str) -> None:
    with pytest.raises(GeostrataError, match=said):
        by_time("ref_as_of", "silver.parcels", KNOWN, text, NOW)


@pytest.mark.parametrize(
    ("note", "author"),
    [
        ('{"dbt_run": "a-run", "dbt_user": "ada", "dbt_inputs": {}}', Author("ada", "a-run")),
        (
            '{"geostrata_repair": {"id": "r1", "reason": "a slip"}, "dbt_inputs": {}}',
            Author(None, "r1", "a slip"),
        ),
        ('{"geostrata_forget": "f1"}', Author(is_forgetting=True)),
        ('{"dbt_inputs": {}, "dbt_run": 7}', Author()),
        ("[1]", Author()),
        ("by hand", Author()),
        (None, Author()),
    ],
)
def test_what_a_note_tells_of_its_author(note: str | None, author: Author) -> None:
    assert author_of(note) == author
