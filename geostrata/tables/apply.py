"""Runs a plan: several statements at once, most needed first, each retried where another writer was faster."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from geostrata.tables import ops_tables, plan
from geostrata.tables.engine import Engine
from geostrata.tables.file_size import SMALL
from geostrata.tables.plan import Action
from geostrata.tables.policy import Policy
from geostrata.tables.state import TableState, read_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = "maintenance_log"
# The first try and four more.
MOST_TRIES = 5
DONE, FAILED, STOPPED, NOT_NEEDED, OUT_OF_WINDOW = "done", "failed", "stopped", "not needed", "out of window"


@dataclass(frozen=True)
class Outcome:
    action: Action
    status: str
    started_at: datetime
    ended_at: datetime
    tries: int = 0
    error: str | None = None
    version_before: int | None = None
    version_after: int | None = None
    files_before: int | None = None
    files_after: int | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.started_at).total_seconds()


Report = Callable[[Outcome], None]


class Run:
    """One `geostrata maintain apply`."""

    def __init__(
        self,
        policy: Policy,
        engine: Engine,
        report: Report = lambda outcome: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        base_s: float = 2.0,
    ) -> None:
        self.run_id = str(uuid.uuid4())
        self._policy, self._engine, self._report, self._clock = policy, engine, report, clock
        self._base_s = base_s
        self._stopped = threading.Event()
        self._handles: dict[int, tuple[Any, Action]] = {}
        self._lock = threading.Lock()

    def apply(self, actions: list[Action]) -> list[Outcome]:
        """Ends calmly on Ctrl-C: what runs is cancelled, what is done stays done, and both are in the log."""
        outcomes: list[Outcome] = []
        with ThreadPoolExecutor(self._policy.concurrency, thread_name_prefix="maintain") as pool:
            waiting: set[Future[Outcome]] = {
                pool.submit(self._one, action) for action in plan.ordered(actions)
            }
            try:
                while waiting:
                    done, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
                    outcomes += [self._finished(future) for future in done]
                    self._cancel_out_of_window()
            except KeyboardInterrupt:
                self.stop()
                for future in waiting:
                    future.cancel()
                running = {future for future in waiting if not future.cancelled()}
                outcomes += [self._finished(future) for future in wait(running).done]
                raise
        return outcomes

    def stop(self) -> None:
        """No statement begins any more, and those that run are cancelled: Delta commits them whole or not at all."""
        self._stopped.set()
        with self._lock:
            handles = [handle for handle, _ in self._handles.values()]
        for handle in handles:
            handle.cancel()

    def _cancel_out_of_window(self) -> None:
        now = self._clock()
        with self._lock:
            late = [
                handle
                for handle, action in self._handles.values()
                if action.window and not action.window.is_open(now)
            ]
        for handle in late:
            handle.cancel()

    def _finished(self, future: Future[Outcome]) -> Outcome:
        outcome = future.result()
        if outcome.status not in (NOT_NEEDED, OUT_OF_WINDOW):
            self._record(outcome)
        self._report(outcome)
        return outcome

    def _one(self, action: Action) -> Outcome:
        began = self._clock()
        if self._stopped.is_set():
            return Outcome(action, STOPPED, began, began, error="interrupted before it began")
        if action.window and not action.window.is_open(began):
            return Outcome(action, OUT_OF_WINDOW, began, began, error=f"its window is {action.window}")
        try:
            before = read_state(action.table.uri)
            # A dbt run, or another maintenance, may have done it since the plan was made.
            fresh = plan.plan_table(action.table, before, self._policy, began)
            if not any(found.kind == action.kind for found in fresh):
                return Outcome(action, NOT_NEEDED, began, self._clock())
            return self._execute(action, before, began)
        except Exception as error:  # one table's trouble must not end the others' work
            return Outcome(action, FAILED, began, self._clock(), error=_one_line(error))

    def _execute(self, action: Action, before: TableState, began: datetime) -> Outcome:
        from dbt.adapters.sedona.retry import RetryPolicy, on_conflict

        handle = self._engine.handle()
        with self._lock:
            self._handles[id(handle)] = (handle, action)
        tries = 0

        def attempt() -> None:
            nonlocal tries
            tries += 1
            _configure(handle.spark, action)
            handle.execute(action.statement)
            handle.fetchall()

        status, error = DONE, None
        try:
            on_conflict(attempt, RetryPolicy(MOST_TRIES - 1, self._base_s), sleep=self._pause)
        except Exception as problem:
            late = action.window and not action.window.is_open(self._clock())
            stopped = self._stopped.is_set() or bool(late)
            status, error = (STOPPED if stopped else FAILED), _one_line(problem)
        finally:
            with self._lock:
                self._handles.pop(id(handle), None)
        after = read_state(action.table.uri)
        return Outcome(
            action,
            status,
            began,
            self._clock(),
            tries,
            error,
            before.version,
            after.version,
            *_figures(action, before, after),
        )

    def _pause(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise InterruptedError("interrupted between two tries")

    def _record(self, outcome: Outcome) -> None:
        action = outcome.action
        row = {
            "run_id": self.run_id,
            "relation_name": action.table.name,
            "table_path": action.table.uri,
            "action_kind": action.kind,
            "sql_text": action.statement,
            "reason": action.reason,
            "override_reason": action.override,
            "status": outcome.status,
            "error": outcome.error,
            "tries": outcome.tries,
            "version_before": outcome.version_before,
            "version_after": outcome.version_after,
            "files_before": outcome.files_before,
            "files_after": outcome.files_after,
            "bytes_before": outcome.bytes_before,
            "bytes_after": outcome.bytes_after,
            "bytes_rewritten": action.bytes_rewritten,
            "started_at": outcome.started_at,
            "ended_at": outcome.ended_at,
        }
        ops_tables.append(LOG, [row])


def _configure(spark: SparkSession, action: Action) -> None:
    """For this thread's session only."""
    settings = {
        "spark.databricks.delta.optimize.maxFileSize": action.target_file_size,
        "spark.databricks.delta.optimize.minFileSize": int(action.target_file_size * SMALL),
        # Delta 4.4 passes over RETAIN unless told not to, and uses the table's property whatever was asked.
        "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled": "false",
        # So that the next plan knows which removed files are gone.
        "spark.databricks.delta.vacuum.logging.enabled": "true",
        # Delta's own guard, lifted only with a reason, which is in the log.
        "spark.databricks.delta.retentionDurationCheck.enabled": str(action.override is None).lower(),
    }
    for name, value in settings.items():
        spark.conf.set(name, str(value))


def _figures(action: Action, before: TableState, after: TableState) -> tuple[int, int, int, int]:
    """Files and bytes before and after: live ones, or the removed ones that a vacuum deletes."""
    if action.kind == plan.VACUUM:
        dead = [
            (len(state.log.dead), sum(stone.size for stone in state.log.dead)) for state in (before, after)
        ]
        return dead[0][0], dead[1][0], dead[0][1], dead[1][1]
    return len(before.files), len(after.files), before.bytes, after.bytes


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
