"""What the tests of maintenance share: the suite's own session as an engine, a policy, and writers that come in between."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

# The tables of the unit tests serve here as well.
sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))

from delta_tables import shapes, write_each, write_many

from geostrata.tables.engine import GivenEngine
from geostrata.tables.policy import Policy, Rule

__all__ = ["SharedEngine", "Writers", "content", "shapes", "some_policy", "write_each", "write_many"]


class SharedEngine(GivenEngine):
    """The session that the suite has already: a second JVM would be all that is gained by another."""

    def __init__(self) -> None:
        from dbt.adapters.sedona import session

        assert session._root is not None, "dbt has not run yet"
        super().__init__(session._root)


def some_policy(concurrency: int = 2, **changes: Any) -> Policy:
    usual = {"small_files": 4, "small_share": 0.25, "unclustered_bytes": 1, "unclustered_share": 0.2}
    return Policy(concurrency, (Rule("all", 1, usual | changes),))


def content(path: Path) -> dict[int, Any]:
    """Of a table with a key: what is stored under each, read by another engine. A key that is there twice is an error."""
    rows = DeltaTable(path).to_pyarrow_table().to_pylist()
    found = {row["shape_id"]: row for row in rows}
    assert len(found) == len(rows), f"{len(rows) - len(found)} rows are there twice"
    return found


def valued(ids: range, value: str) -> pa.Table:
    chance = random.Random(ids.start)
    corners = [(chance.random(), chance.random()) for _ in ids]
    table = shapes([[x, y, x + 0.01, y + 0.01] for x, y in corners], ids.start)
    return table.append_column("value", pa.array([value] * len(ids)))


@dataclass
class Writers:
    """Ten of them: each changes rows of its own, again and again, and tries again when another was faster."""

    path: Path
    rounds: int
    expected: dict[int, str] = field(default_factory=dict)
    # Marks of the commits that were acknowledged, each to be found in the log.
    acknowledged: list[str] = field(default_factory=list)
    conflicts: int = 0
    errors: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    RANGE = 10_000
    START = 200

    def prepare(self) -> None:
        """Rows of each writer, in many small files."""
        for writer in range(10):
            for part in range(0, self.START, 20):
                first = writer * self.RANGE + part
                write_deltalake(self.path, valued(range(first, first + 20), "first"), mode="append")
            ids = range(writer * self.RANGE, writer * self.RANGE + self.START)
            self.expected |= dict.fromkeys(ids, "first")

    def start(self) -> list[threading.Thread]:
        jobs = [self._append] * 4 + [self._merge] * 3 + [self._delete] * 3
        threads = [
            threading.Thread(target=self._work, args=(writer, job), name=f"writer-{writer}")
            for writer, job in enumerate(jobs)
        ]
        for thread in threads:
            thread.start()
        return threads

    def _work(self, writer: int, job: Callable[[int, int, CommitProperties], dict[int, str | None]]) -> None:
        try:
            for number in range(self.rounds):
                self._until_committed(writer, number, job)
        except Exception as error:  # the test shows what went wrong in another thread
            self.errors.append(f"{threading.current_thread().name}: {type(error).__name__}: {error}")

    def _until_committed(self, writer: int, number: int, job: Any) -> None:
        mark = f"{writer}-{number}"
        for attempt in range(50):
            try:
                changes = job(writer, number, CommitProperties(custom_metadata={"mark": mark}))
            except (CommitFailedError, DeltaError) as error:
                if not any(word in str(error).lower() for word in ("conflict", "concurrent", "transaction")):
                    raise
                with self._lock:
                    self.conflicts += 1
                time.sleep(random.random() * 0.1 * (attempt + 1))
                continue
            with self._lock:
                self.acknowledged.append(mark)
                for key, value in changes.items():
                    if value is None:
                        self.expected.pop(key, None)
                    else:
                        self.expected[key] = value
            return
        raise AssertionError(f"{mark} was never committed")

    def _append(self, writer: int, number: int, properties: CommitProperties) -> dict[int, str | None]:
        first = writer * self.RANGE + self.START + number * 20
        ids = range(first, first + 20)
        write_deltalake(self.path, valued(ids, "appended"), mode="append", commit_properties=properties)
        return dict.fromkeys(ids, "appended")

    def _merge(self, writer: int, number: int, properties: CommitProperties) -> dict[int, str | None]:
        """Half of the rows are there, half are new."""
        first = writer * self.RANGE + self.START - 10 + number * 10
        ids = range(first, first + 20)
        value = f"merged {number}"
        low, high = writer * self.RANGE, (writer + 1) * self.RANGE
        (
            DeltaTable(self.path)
            .merge(
                valued(ids, value),
                f"t.shape_id = s.shape_id and t.shape_id >= {low} and t.shape_id < {high}",
                source_alias="s",
                target_alias="t",
                commit_properties=properties,
            )
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        )
        return dict.fromkeys(ids, value)

    def _delete(self, writer: int, number: int, properties: CommitProperties) -> dict[int, str | None]:
        first = writer * self.RANGE + number * 5
        DeltaTable(self.path).delete(
            f"shape_id >= {first} and shape_id < {first + 5}", commit_properties=properties
        )
        return dict.fromkeys(range(first, first + 5), None)

    def lost(self) -> list[str]:
        """Commits that were acknowledged and are not in the log."""
        found = set()
        for commit in (self.path / "_delta_log").glob("*.json"):
            for line in commit.read_text().splitlines():
                if about := json.loads(line).get("commitInfo"):
                    found.add(about.get("mark"))
        return sorted(set(self.acknowledged) - found)
