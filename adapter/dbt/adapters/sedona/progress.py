"""Says now and then how far a long statement is."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from dbt.adapters.events.logging import AdapterLogger

logger = AdapterLogger("Sedona")

# Short statements say nothing; a long one speaks at this pace.
EVERY_S = 15.0


@contextmanager
def shown(context: Any, group: str, every_s: float = EVERY_S) -> Generator[None, None, None]:
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, group, done, every_s), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()


def _watch(context: Any, group: str, done: threading.Event, every_s: float) -> None:
    began = time.monotonic()
    while not done.wait(every_s):
        finished, total = _tasks(context, group)
        share = f", {finished} of {total} tasks done" if total else ""
        logger.info(f"Still running after {time.monotonic() - began:.0f} s{share}")


def _tasks(context: Any, group: str) -> tuple[int, int]:
    """Finished and known tasks of the group's running stages."""
    tracker = context.statusTracker()
    try:
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        running = [stage for job in jobs if job and job.status == "RUNNING" for stage in job.stageIds]
        stages = [info for stage in running if (info := tracker.getStageInfo(stage))]
    except Exception:  # the session may end while we look; progress is only a courtesy
        return 0, 0
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
