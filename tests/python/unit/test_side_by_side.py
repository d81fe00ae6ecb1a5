"""Targets side by side: all are run, and one that fails is told at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "side_by_side.py"


def run(folder: Path, *chains: str) -> subprocess.CompletedProcess[str]:
    (folder / "Makefile").write_text("good better:\n\t@echo $@ is here\nbad:\n\t@echo oh; exit 3\n")
    return subprocess.run(
        [sys.executable, str(SCRIPT), *chains], cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_every_target_of_every_chain_is_run_and_named(tmp_path: Path) -> None:
    done = run(tmp_path, "good better", "better")
    assert done.returncode == 0
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines.count("good | good is here") == 1
    assert lines.count("better | better is here") == 2


def test_a_failure_is_told_and_stops_no_other(tmp_path: Path) -> None:
    done = run(tmp_path, "bad good", "better")
    assert done.returncode == 1
    assert "good is here" in done.stdout and "better is here" in done.stdout
    assert done.stderr == "failed: bad\n"
