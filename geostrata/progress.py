"""What a long build shows while it runs: one line that changes on a terminal, a line a table elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any


def say(text: str) -> None:
    print(f"  {text} ...", flush=True)


class BuildProgress:
    """Listens to dbt's events."""

    def __init__(self) -> None:
        # Seconds from the command to the first node, and in nodes of each kind.
        self.seconds: dict[str, float] = {}
        self._began = time.monotonic()
        self._on_terminal = sys.stdout.isatty()
        self._done = 0
        self._total = 0

    def __call__(self, event: Any) -> None:
        name = event.info.name
        if name == "NodeStart":
            self.seconds.setdefault("until the first table starts", time.monotonic() - self._began)
        elif name in ("LogModelResult", "LogSeedResult", "LogTestResult", "LogSnapshotResult"):
            self._finished(event)

    def _finished(self, event: Any) -> None:
        self._done += 1
        data = event.data
        # dbt counts a test's siblings under another name than a model's.
        self._total = max(self._total, getattr(data, "total", 0), getattr(data, "num_models", 0))
        kind = _kind(data.node_info)
        self.seconds[kind] = self.seconds.get(kind, 0) + data.execution_time
        if self._on_terminal:
            self._show(f"{self._done} of {self._total}  {data.node_info.node_name}"[:78])
        elif kind != "tests":
            # One write a line: several threads report.
            sys.stdout.write(f"  {data.execution_time:6.1f} s  {kind:9} {data.node_info.node_name}\n")
            sys.stdout.flush()

    def _show(self, text: str) -> None:
        sys.stdout.write(f"\r\x1b[2K  {text}")
        sys.stdout.flush()

    def close(self) -> None:
        if self._on_terminal:
            self._show("")
            sys.stdout.write("\r")


def _kind(node: Any) -> str:
    if node.resource_type == "test":
        return "tests"
    return str(node.node_relation.schema) if node.node_relation.schema else str(node.resource_type)
