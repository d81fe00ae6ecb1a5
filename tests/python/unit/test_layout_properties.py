"""What must be set and unset so that a table has the properties that are declared. No Spark."""

from __future__ import annotations

from geostrata.layout.properties import REMEMBERED, Changes, changes, remembered

NOTHING = Changes({}, [], [])


def as_left(declared: dict[str, str], **others: str) -> dict[str, str]:
    """A table as the last run has left it."""
    return {**declared, **others, REMEMBERED: remembered(declared)}


def test_nothing_differs() -> None:
    declared = {"delta.appendOnly": "true", "a": "1"}
    assert changes(declared, as_left(declared)) == NOTHING
    assert changes(declared, as_left(declared, somebody="else")) == NOTHING
    # The order in which they are declared is no difference.
    assert changes(dict(reversed(declared.items())), as_left(declared)) == NOTHING


def test_a_table_from_before_has_nothing_of_ours() -> None:
    assert changes({"a": "1"}, {"a": "2", "b": "3"}) == Changes(
        {"a": "1", REMEMBERED: remembered({"a": "1"})}, [], []
    )
    assert changes({}, {"b": "3"}).unset == []


def test_set_changed_and_no_longer_declared() -> None:
    before, after = {"a": "1", "b": "2"}, {"b": "3", "c": "4"}
    assert changes(after, as_left(before)) == Changes({**after, REMEMBERED: remembered(after)}, ["a"], [])


def test_killed_after_the_unset_the_next_run_goes_on() -> None:
    present = as_left({"a": "1", "b": "2"})
    del present["a"]
    assert changes({"b": "2"}, present) == Changes({REMEMBERED: remembered({"b": "2"})}, [], [])


def test_another_hand_is_told_of() -> None:
    declared = {"a": "1", "b": "2"}
    present = {**as_left(declared), "a": "9"}
    del present["b"]
    assert changes(declared, present) == Changes(
        declared, [], ["a was 9 by another hand, set back to 1", "b was gone by another hand, set back to 2"]
    )


def test_what_another_hand_changed_is_not_ours_to_unset() -> None:
    present = {**as_left({"a": "1"}), "a": "9"}
    assert changes({}, present) == Changes(
        {REMEMBERED: "{}"}, [], ["a is 9 by another hand and no longer declared, left as it is"]
    )


def test_the_same_by_another_hand_is_no_drift() -> None:
    # The project has changed its mind, and somebody was quicker.
    assert changes({"a": "2"}, {**as_left({"a": "1"}), "a": "2"}).drift == []


def test_a_long_value_is_told_in_short() -> None:
    declared = {"geostrata.geo": "x" * 500}
    (told,) = changes(declared, {**as_left(declared), "geostrata.geo": "y" * 500}).drift
    assert len(told) < 200


def test_the_protocol_is_for_creation_only() -> None:
    assert changes({"delta.feature.clustering": "supported"}, as_left({})) == NOTHING


def test_a_note_that_was_written_over_is_made_again() -> None:
    for text in ("no json", "[]"):
        found = changes({"a": "1"}, {"a": "1", "b": "2", REMEMBERED: text})
        assert found == Changes({REMEMBERED: remembered({"a": "1"})}, [], [])
