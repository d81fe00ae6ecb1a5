"""`make test-faults`: twenty kills. The integration suite does the same with few."""

from __future__ import annotations

import os
from pathlib import Path

from killed_runs import kill_and_compare


def test_killed_runs_leave_nothing_behind(tmp_path: Path) -> None:
    kills = int(os.environ.get("KILLS", "20"))
    moments = kill_and_compare(tmp_path, kills, seed=int(os.environ.get("SEED", "1")))
    print("killed after", ", ".join(moments))
    assert len(moments) == kills
