"""Targets side by side: all are run, and one that fails is told at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "side_by_side.py"


MAKEFILE = """
good better:
\t@echo $@ is here
bad:
\t@echo oh; exit 3
# Each ends only when the other has begun.
left right:
\t@touch $@.began; until test -e left.began -a -e right.began; do sleep 0.05; done; echo $@ has met the other
"""


def run(folder: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    (folder / "Makefile").write_text(MAKEFILE)
    return subprocess.run(
        [sys.executable, str(SCRIPT), *targets], cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_every_target_is_run_and_named(tmp_path: Path) -> None:
    done = run(tmp_path, "good", "better", "better")
    assert done.returncode == 0
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines.count("good | good is here") == 1
    assert lines.count("better | better is here") == 2


def test_two_run_at_a_time(tmp_path: Path) -> None:
    done = run(tmp_path, "left", "right")
    assert done.returncode == 0
    assert "left has met the other" in done.stdout and "right has met the other" in done.stdout


def test_a_failure_is_told_and_stops_no_other(tmp_path: Path) -> None:
    done = run(tmp_path, "bad", "good", "better")
    assert done.returncode == 1
    assert "good is here" in done.stdout and "better is here" in done.stdout
    assert done.stderr == "failed: bad\n"
