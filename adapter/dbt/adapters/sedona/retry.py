"""Runs a statement again when Delta aborted it for a clash with another writer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.sedona.errors import is_conflict, one_line

logger = AdapterLogger("Sedona")
Result = TypeVar("Result")


@dataclass(frozen=True)
class RetryPolicy:
    retries: int = 5
    base_s: float = 2.0
    cap_s: float = 30.0

    def delays(self) -> Iterator[float]:
        """Exponential growth up to the cap; half of each delay is random, so that two losers don't meet again."""
        for attempt in range(self.retries):
            whole = min(self.cap_s, self.base_s * 2**attempt)
            yield whole * (0.5 + random.random() / 2)  # noqa: S311  # no secret, only spread


def on_conflict(
    run: Callable[[], Result], policy: RetryPolicy, sleep: Callable[[float], None] = time.sleep
) -> Result:
    for attempt, delay in enumerate(policy.delays(), start=1):
        try:
            return run()
        except Exception as error:
            if not is_conflict(error):
                raise
            logger.info(
                f"Another writer changed the table: retry {attempt} of {policy.retries} in {delay:.1f} s "
                f"({one_line(error)[:160]})"
            )
            sleep(delay)
    return run()
