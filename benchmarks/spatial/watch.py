"""What a tree of processes uses: CPU seconds, and memory with shared pages counted once."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
# A look walks the page tables, on one of the cores that are being measured: rest twenty times as long.
_REST = 20


def tree(root: int) -> set[int]:
    """The process and all below it."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        found.add(pid)
        # By thread: a child belongs to the thread that started it.
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                waiting += map(int, children.read_text().split())
    return found


def cpu_seconds(root: int) -> float:
    """Of the tree, with what its ended processes used (Linux adds that up in the parent that waited for them)."""
    return sum(sum(map(int, fields[11:15])) for pid in tree(root) if (fields := _stat(pid))) / _TICKS


def machine_cpu_seconds() -> float:
    """Of all processes since the machine started: user, nice, system and interrupts, without waiting."""
    busy = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(int(busy[field]) for field in (0, 1, 2, 5, 6)) / _TICKS


def memory_mb(root: int) -> float:
    """Of the tree; a page that several share is counted once (Pss)."""
    total = 0
    for pid in tree(root):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


class PeakMemory:
    """Looks at the tree below a process from time to time until told to stop."""

    def __init__(self, root: int) -> None:
        self.megabytes = 0.0
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def restart(self) -> None:
        """What was before does not count."""
        self.megabytes = 0.0
        self.look()

    def look(self) -> None:
        self.megabytes = max(self.megabytes, memory_mb(self._root))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        pause = 0.02
        while not self._stop.wait(pause):
            began = time.monotonic()
            self.look()
            pause = max(0.05, _REST * (time.monotonic() - began))


def _stat(pid: int) -> list[str]:
    """The fields behind the name, which may hold blanks; none if the process has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []
