"""Starts a process an engine and case, or an engine where nothing is timed, watches it, and gathers what it tells."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.spatial import answers
from benchmarks.spatial.cases import Case
from benchmarks.spatial.data import Data
from benchmarks.spatial.watch import PeakMemory, tree

ROOT = Path(__file__).resolve().parents[2]
WORKER = [sys.executable, "-m", f"{__package__}.worker"]
# What is kept as tables is written before the first run, which is no part of it.
_PREPARING_S = 600
# For answers alone: a virtual machine's optimising compiler would cost more than it gains.
_UNTIMED = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"}


@dataclass(frozen=True)
class Row:
    """One line of the results. Seconds are medians; a step that is shown apart has no answer of its own."""

    case: str
    size: float
    engine: str
    wall_s: float
    cpu_s: float | None = None
    peak_mb: float | None = None
    answer: str | None = None
    extras: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "size": self.size,
            "engine": self.engine,
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "peak_mb": self.peak_mb,
            "answer": self.answer,
            **self.extras,
        }


class NotMeasuredError(Exception):
    """In words: why there is no figure."""


class OvertimeError(NotMeasuredError):
    """A larger size would take no less."""


class Runner:
    """With no repeats nothing is timed, and one process answers all cases of an engine."""

    def __init__(self, folder: Path, repeats: int, limit_s: float, say: Callable[[str], None]) -> None:
        self.folder, self.repeats, self.limit_s, self.say = folder.resolve(), repeats, limit_s, say
        self._kept: dict[str, _Worker] = {}
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> Runner:
        scratch = tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True)
        self._session = self._exits.enter_context(scratch)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._kept.values():
            worker.end()
        self._exits.close()

    def measure(self, case: Case, data: Data, engine: str) -> list[Row]:
        """The case's row, and one for each step that is shown apart; none if nothing is timed. The answer is kept beside the data."""
        kept = self.answer_file(case, data, engine)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            told = self._ask(
                {
                    "engine": engine,
                    "case": case.name,
                    "points": data.points,
                    "data": str(data.folder.resolve()),
                    "scratch": scratch,
                    "session": None if self.repeats else self._session,
                    "repeats": self.repeats,
                    "answer": str(kept),
                }
            )
        if not self.repeats:
            return []
        size = case.rows(data) / 1e6
        rows = [Row(step, size, engine, round(took, 3)) for step, took in told.steps.items()]
        wall_s, cpu_s, _ = (statistics.median(values) for values in zip(*told.runs, strict=True))
        walls, _, others = (sum(values) for values in zip(*told.runs, strict=True))
        found = answers.summary(answers.load(kept))
        rows.append(
            Row(
                case.name,
                size,
                engine,
                round(wall_s, 3),
                round(cpu_s, 2),
                round(told.peak_mb),
                found,
                {**told.extras, "others_cores": max(0.0, round(others / walls, 2))},
            )
        )
        return rows

    def answer_file(self, case: Case, data: Data, engine: str) -> Path:
        return self.folder / "answers" / f"{case.name}_{case.rows(data)}_{engine}.npz"

    def _ask(self, spec: dict[str, Any]) -> _Told:
        # Taken out until it has answered: one that failed is not asked again.
        worker = self._kept.pop(spec["engine"], None)
        if worker is None:
            log = self.folder / f"worker-{spec['engine']}.log"
            worker = _Worker(log, {} if self.repeats else _UNTIMED)
        try:
            told = worker.ask(spec, self.limit_s, self.say)
            if self.repeats:
                worker.finish()
            else:
                self._kept[spec["engine"]] = worker
        finally:
            if spec["engine"] not in self._kept:
                worker.end()
        return told


class _Worker:
    def __init__(self, log: Path, environment: dict[str, str]) -> None:
        self._log = log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                WORKER,
                cwd=ROOT,
                env=os.environ | environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def ask(self, spec: dict[str, Any], limit_s: float, say: Callable[[str], None]) -> _Told:
        told = _Told()
        peak = PeakMemory(self._process.pid)
        deadline = _Deadline(self._process.pid, max(limit_s, _PREPARING_S))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(spec), file=self._process.stdin, flush=True)
            for line in self._process.stdout:
                words = json.loads(line)
                if words["event"] == "end":
                    break
                told.hear(words, peak, say)
                deadline.extend(limit_s)
            else:
                self._process.wait()
        finally:
            deadline.cancel()
            peak.stop()
        if deadline.has_passed:
            raise OvertimeError(f"more than {limit_s:.0f} s for one run: given up")
        if told.unavailable:
            raise NotMeasuredError(told.unavailable)
        if self._process.poll() or not told.is_done:
            raise self._failure()
        return told

    def finish(self) -> None:
        """There is no other question."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.wait():
            raise self._failure()

    def end(self) -> None:
        if self._process.poll() is None:
            _end(self._process.pid)
            self._process.wait()

    def _failure(self) -> NotMeasuredError:
        words = self._log.read_text().strip().splitlines()
        return NotMeasuredError(f"failed: {words[-1] if words else f'exit code {self._process.poll()}'}")


class _Told:
    def __init__(self) -> None:
        self.steps: dict[str, float] = {}
        # Wall seconds, CPU seconds, and those that the rest of the machine used meanwhile.
        self.runs: list[tuple[float, float, float]] = []
        self.extras: dict[str, Any] = {}
        self.peak_mb = 0.0
        self.unavailable = ""
        self.is_done = False

    def hear(self, words: dict[str, Any], peak: PeakMemory, say: Callable[[str], None]) -> None:
        match words["event"]:
            case "unavailable":
                self.unavailable = words["why"]
            case "ready":
                self.steps = words["steps"]
                for step, took in self.steps.items():
                    say(f"{step} {took:.2f} s")
                # Loading is not what is measured.
                peak.restart()
            case "warm":
                say(f"first {words['wall_s']:.2f} s")
            case "run":
                say(f"{words['wall_s']:.2f} s")
                self.runs.append((words["wall_s"], words["cpu_s"], words["others_s"]))
                peak.look()
                self.peak_mb = peak.megabytes
            case "done":
                self.extras, self.is_done = words["extras"], True


class _Deadline:
    """Ends a worker that has said nothing for too long."""

    def __init__(self, worker: int, seconds: float) -> None:
        self.has_passed = False
        self._worker = worker
        self.extend(seconds)

    def extend(self, seconds: float) -> None:
        self.cancel()
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        if hasattr(self, "_timer"):
            self._timer.cancel()

    def _pass(self) -> None:
        self.has_passed = True
        _end(self._worker)


def _end(worker: int) -> None:
    """The worker and all that it started: the JVM and its Python workers, PostgreSQL and its backends."""
    for pid in tree(worker):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
