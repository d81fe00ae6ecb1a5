"""Ends a dbt run in this process at a chosen commit, as a kill would: what comes after is not done, by no thread."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from dbt_common.exceptions import DbtRuntimeError

_COMMENT = re.compile(r"^\s*/\*.*?\*/\s*", re.DOTALL)
_COMMITS = re.compile(
    r"(insert|merge|delete|update|optimize|alter\s+table|create\s+(or\s+replace\s+)?table)\b", re.IGNORECASE
)


class Kill(NamedTuple):
    """At which commit to tables of a world, from 1, and on which side of it."""

    commit: int
    is_after: bool


class KilledError(DbtRuntimeError):
    pass


class KillSwitch:
    """Ends the run by an error in every thread, or in earnest, with all processes of its group."""

    def __init__(self, is_real: bool = False) -> None:
        self._is_real = is_real
        self._lock = threading.Lock()
        self._kill: Kill | None = None
        self._of: re.Pattern[str] | None = None
        self._seen = 0
        self.is_dead = False

    @contextmanager
    def armed(self, kill: Kill | None, tables: str) -> Iterator[None]:
        """`tables` is a pattern of the names of the tables whose commits count."""
        self._kill, self._of = kill, re.compile(tables)
        self._seen, self.is_dead = 0, False
        try:
            yield
        finally:
            self._kill, self.is_dead = None, False

    def pass_through(self, statement: str, run: Callable[[], Any]) -> Any:
        if self.is_dead:
            raise KilledError("killed")
        is_it = self._counts(statement)
        if is_it and self._kill and not self._kill.is_after:
            self._end()
        done = run()
        if is_it:
            self._end()
        return done

    def _end(self) -> None:
        if self._is_real:
            os.killpg(0, signal.SIGKILL)
        self.is_dead = True
        raise KilledError("killed")

    def _counts(self, statement: str) -> bool:
        """True if this is the commit to end at."""
        if self._kill is None or self._of is None:
            return False
        text = _COMMENT.sub("", statement)
        if not _COMMITS.match(text) or not self._of.search(text[:200]):
            return False
        with self._lock:
            self._seen += 1
            return self._seen == self._kill.commit


def install(switch: KillSwitch, patch: pytest.MonkeyPatch) -> None:
    """Around all that a dbt run in this process says to Spark."""
    from dbt.adapters.sedona import driver_tables
    from dbt.adapters.sedona.connections import SessionHandle

    execute, run_python, replace_rows = (
        SessionHandle.execute,
        SessionHandle.run_python,
        driver_tables.replace_rows,
    )

    def execute_unless_dead(self: Any, sql: str, bindings: list[Any] | None = None) -> None:
        switch.pass_through(sql, lambda: execute(self, sql, bindings))

    def python_unless_dead(self: Any, run: Any) -> Any:
        return switch.pass_through("", lambda: run_python(self, run))

    def replace_unless_dead(spark: Any, target: str, *arguments: Any, **options: Any) -> Any:
        # Where it leaves the rows to Spark, the statement that follows is the commit.
        return switch.pass_through(
            f"insert into {target}", lambda: replace_rows(spark, target, *arguments, **options)
        )

    patch.setattr(SessionHandle, "execute", execute_unless_dead)
    patch.setattr(SessionHandle, "run_python", python_unless_dead)
    patch.setattr(driver_tables, "replace_rows", replace_unless_dead)
