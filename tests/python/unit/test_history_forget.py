"""What `forget` and `retain` refuse, and the statements that they make. No Spark."""

from __future__ import annotations

from typing import Any

import pytest

from geostrata.errors import GeostrataError
from geostrata.history import layers
from geostrata.history.forget import _word
from geostrata.history.layers import AUDIT, CHECKED, COPY, ENTITY, FOREIGN, LANDED, Request, Table
from geostrata.history.retain import Rule

KEY = "P-17"
REQUEST = Request("parcels", "parcel_id", "parcel_id", KEY, "request 17")
BY_USE = Request("parcels", "parcel_id", "land_use", "orchard", "request 17")
COLUMNS = ("parcel_id", "land_use", "_corrupt_record", "_file_problem", "_source_file", "_row_id")


@pytest.mark.parametrize(
    ("value", "reason", "said"),
    [
        (KEY, " ", "a reason is needed"),
        (" ", "request 17", "The key is empty"),
        (KEY, "the owner of P-17 asked", "the reason is kept"),
    ],
)
def test_requests_that_are_refused(value: str, reason: str, said: str) -> None:
    with pytest.raises(GeostrataError, match=said):
        Request("parcels", "parcel_id", "parcel_id", value, reason).check()


@pytest.mark.parametrize("role", [LANDED, CHECKED, ENTITY, AUDIT, COPY])
def test_no_statement_names_the_key(role: str) -> None:
    columns = (*COLUMNS, "failed_expectations", "landed_value", "entity", "entity_key")
    statement = layers.removal(Table("a.table", role, columns), REQUEST, layers.mark("an-id"))
    assert statement is not None
    assert KEY not in statement
    verb = "update set" if role in (LANDED, CHECKED) else "delete"
    assert f"when matched then {verb}" in statement


def test_a_landed_row_keeps_where_it_came_from() -> None:
    statement = layers.removal(Table("bronze.raw", LANDED, COLUMNS), REQUEST, "the mark")
    assert statement is not None
    changes = statement.split("update set ")[1]
    assert changes == "`parcel_id` = null, `land_use` = null, `_corrupt_record` = 'the mark'"


def test_a_table_that_knows_nothing_of_it_is_left_alone() -> None:
    assert layers.removal(Table("gold.counts", COPY, ("zone_id", "events")), REQUEST, "") is None


def test_copies_are_found_by_all_that_tells_their_rows_apart() -> None:
    def by(role: str, *columns: str) -> str | None:
        return layers.matching(Table("a.table", role, columns), BY_USE)

    # The id of the landed row finds it, whatever else the copy kept of it; a copy without both goes by the keys that silver loses.
    assert "forgotten_rows" in str(by(COPY, "parcel_id", "_row_id"))
    both = str(by(COPY, "land_use", "_row_id"))
    assert "forgotten_rows" in both
    assert "forgotten_values" in both
    assert "forgotten_entities" in str(by(COPY, "parcel_id", "label"))
    assert by(FOREIGN, "parcel_id", "_row_id") is None


def test_a_number_is_not_looked_for_in_raw_text() -> None:
    assert [_word(value) for value in ("17", "-1.5", "1_000")] == [None, None, None]
    word = _word("P.1'7")
    assert word is not None
    assert "P\\\\.1\\\\\\'7" in word


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"days": 0}, "telemetry: retain_days must be a number of days, at least 1, got 0"),
        ({"days": True}, "got True"),
        ({"days": "ten"}, "got 'ten'"),
        ({"column": None}, "telemetry: retain_days needs retain_by"),
        ({"column": "when"}, "got 'when', there are event_id, event_ts"),
        ({"role": "foreign"}, "landed and checked rows go with their entity"),
    ],
)
def test_rules_that_are_refused(changes: dict[str, Any], said: str) -> None:
    usual: dict[str, Any] = {
        "model": "telemetry",
        "table": "silver.telemetry",
        "role": "copy",
        "days": 30,
        "column": "event_ts",
        "entity": "telemetry",
        "tables": [],
    }
    Rule(**usual).check(("event_id", "event_ts"))
    with pytest.raises(GeostrataError, match=said):
        Rule(**(usual | changes)).check(("event_id", "event_ts"))
