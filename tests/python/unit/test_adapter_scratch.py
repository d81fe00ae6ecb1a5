"""The JVM's own temporary folder, in the state and not in the machine's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dbt.adapters.sedona import scratch


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for process in (ended.pid, os.getppid()):
        (tmp_path / "tmp" / str(process) / "blockmgr").mkdir(parents=True)
    scratch.claim(tmp_path)
    left = {folder.name for folder in (tmp_path / "tmp").iterdir()}
    assert left == {str(os.getppid()), str(os.getpid())}
