"""Kills dbt runs, whole process groups, at random moments, and compares what is left with an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow
from deltalake import DeltaTable

from geostrata import demo, settings

BIN = Path(sys.executable).parent
SCALE, SEED = 0.02, 7


class Lakehouse:
    """A state folder, built by dbt in processes of its own."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._environment = {**os.environ, settings.STATE_VARIABLE: str(state)}

    def land(self, days: int) -> None:
        demo.generate(self.state / "landing", scale=SCALE, seed=SEED, days=days)

    def start(self) -> subprocess.Popen[bytes]:
        self.state.mkdir(parents=True, exist_ok=True)
        # Tests write nothing: they would only make the wait longer.
        options = ["--exclude-resource-type", "test", "--target-path", str(self.state / "target")]
        with (self.state / "dbt.out").open("ab") as output:
            return subprocess.Popen(
                [str(BIN / "dbt"), "build", *options],
                cwd=settings.project_dir(),
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def run(self) -> float:
        began = time.monotonic()
        process = self.start()
        assert process.wait(900) == 0, (self.state / "dbt.out").read_text()[-3000:]
        return time.monotonic() - began

    def kill_after(self, seconds: float) -> bool:
        """True if the run was still going when it was killed."""
        process = self.start()
        try:
            process.wait(seconds)
            return False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True

    def accounts(self) -> list[dict[str, Any]]:
        done = subprocess.run(
            [str(BIN / "geostrata"), "account", "--json"],
            cwd=settings.project_dir(),
            env=self._environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return list(json.loads(done.stdout))

    def gold(self) -> dict[str, list[str]]:
        tables = sorted((self.state / "warehouse" / "gold.db").iterdir())
        return {
            path.name: sorted(
                repr(row) for row in pyarrow.table(DeltaTable(path).to_pyarrow_table()).to_pylist()
            )
            for path in tables
        }


def kill_and_compare(folder: Path, kills: int, seed: int) -> list[str]:
    """Runs both lakehouses; returns the moments of the kills, for the record."""
    chance = random.Random(seed)
    calm, disturbed = Lakehouse(folder / "calm"), Lakehouse(folder / "disturbed")
    days = 1 + (kills + 4) // 5
    calm.land(days)
    longest = calm.run()
    moments = []
    for number in range(kills):
        # A new drop every five kills: first builds and incremental ones are both cut.
        disturbed.land(1 + number // 5)
        seconds = chance.uniform(0.1, 0.95) * longest
        # A run with less to do may end before: the next one is cut sooner.
        while not disturbed.kill_after(seconds):
            seconds *= 0.6
        moments.append(f"{seconds:.1f} s")
        if number % 5 == 4:
            disturbed.run()
            disturbed.accounts()
    disturbed.land(days)
    disturbed.run()
    expected = {row["entity"]: row for row in calm.accounts()}
    assert {row["entity"]: row for row in disturbed.accounts()} == expected
    assert disturbed.gold() == calm.gold()
    return moments
