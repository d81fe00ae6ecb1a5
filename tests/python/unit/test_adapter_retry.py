"""The retry policy: how long, how often, and only for clashes with another writer."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.sedona import retry
from dbt.adapters.sedona.retry import RetryPolicy, on_conflict

CONFLICT = (
    "[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] Transaction conflict detected. A concurrent MERGE added data."
)


class Statement:
    """Fails the given number of times, then answers."""

    def __init__(self, failures: int, message: str = CONFLICT) -> None:
        self.failures = failures
        self.message = message
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise RuntimeError(self.message)
        return "done"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(retry.logger, "info", lines.append)
    return lines


def test_delays_double_up_to_the_cap() -> None:
    for _ in range(200):
        delays = list(RetryPolicy(retries=6, base_s=2, cap_s=30).delays())
        for delay, whole in zip(delays, [2, 4, 8, 16, 30, 30], strict=True):
            assert whole / 2 <= delay <= whole


def test_two_losers_do_not_wait_equally_long() -> None:
    assert len({next(RetryPolicy().delays()) for _ in range(20)}) > 1


def test_a_conflict_is_retried_and_said(told: list[str]) -> None:
    slept: list[float] = []
    statement = Statement(failures=2)
    assert on_conflict(statement, RetryPolicy(), sleep=slept.append) == "done"
    assert statement.calls == 3
    assert len(slept) == 2
    assert told[0].startswith("Another writer changed the table: retry 1 of 5 in ")
    assert "retry 2 of 5" in told[1]
    assert "DELTA_CONCURRENT_APPEND" in told[1]


def test_the_last_conflict_is_raised(told: list[str]) -> None:
    statement = Statement(failures=100)
    with pytest.raises(RuntimeError, match="DELTA_CONCURRENT_APPEND"):
        on_conflict(statement, RetryPolicy(retries=3), sleep=lambda _: None)
    assert statement.calls == 4
    assert len(told) == 3


def test_no_retries_means_one_try() -> None:
    statement = Statement(failures=1)
    with pytest.raises(RuntimeError):
        on_conflict(statement, RetryPolicy(retries=0), sleep=lambda _: None)
    assert statement.calls == 1


@pytest.mark.parametrize(
    "message",
    [
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`b` cannot be found.",
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint known (id > 0) violated by row with values: - id : 0",
    ],
)
def test_other_errors_are_raised_at_once(message: str, told: list[str]) -> None:
    statement = Statement(failures=1, message=message)
    with pytest.raises(RuntimeError):
        on_conflict(statement, RetryPolicy(), sleep=lambda _: None)
    assert statement.calls == 1
    assert told == []


@pytest.mark.parametrize(
    "message",
    [
        CONFLICT,
        "[DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT] ...",
        "[DELTA_METADATA_CHANGED] MetadataChangedException: The metadata of the table has been changed.",
        "[DELTA_PROTOCOL_CHANGED] ProtocolChangedException: ...",
        "io.delta.exceptions.ConcurrentWriteException: a concurrent transaction has written new data",
    ],
)
def test_every_kind_of_clash_counts(message: str, told: list[str]) -> None:
    statement = Statement(failures=1, message=message)
    assert on_conflict(statement, RetryPolicy(), sleep=lambda _: None) == "done"


def test_an_interrupt_is_never_retried() -> None:
    def interrupted() -> Any:
        raise KeyboardInterrupt(CONFLICT)

    with pytest.raises(KeyboardInterrupt):
        on_conflict(interrupted, RetryPolicy(), sleep=lambda _: None)
