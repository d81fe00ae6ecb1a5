"""dbt runs in processes of their own, killed as whole process groups at random moments."""

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

from geostrata import demo, settings

BIN = Path(sys.executable).parent
# A run is killed after a part of what a whole one takes: a first guess, and what it took if it ended before.
EARLIEST, LATEST = 0.15, 0.95
A_RUN_S = 60


class Lakehouse:
    """A state folder, built by dbt in processes of its own."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._environment = {**os.environ, settings.STATE_VARIABLE: str(state)}

    def land(self, like: dict[str, Any], days: int) -> None:
        demo.generate(self.state / "landing", scale=like["scale"], seed=like["seed"], days=days)

    def run(self) -> None:
        assert self._start().wait(900) == 0, (self.state / "dbt.out").read_text()[-3000:]

    def kill_after(self, seconds: float) -> float | None:
        """None if the run was still going when it was killed, else how long it took."""
        began = time.monotonic()
        process = self._start()
        try:
            process.wait(seconds)
            return time.monotonic() - began
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None

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

    def _start(self) -> subprocess.Popen[bytes]:
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


def disturb(lakehouse: Lakehouse, like: dict[str, Any], kills: int, seed: int) -> list[str]:
    """Lands the days of another town one by one and kills the runs that load them. Returns the moments, for the record."""
    chance = random.Random(seed)
    days = len(like["days"])
    moments = []
    for number in range(kills):
        lakehouse.land(like, days=1 + number * days // kills)
        seconds = chance.uniform(EARLIEST, LATEST) * A_RUN_S
        # A run with less to do may end before: then it says how long the next one takes.
        while (ended_after := lakehouse.kill_after(seconds)) is not None:
            seconds = chance.uniform(EARLIEST, LATEST) * ended_after
        moments.append(f"{seconds:.1f} s")
        print(f"kill {number + 1} of {kills} after {moments[-1]}", flush=True)
        if number % 5 == 4:
            lakehouse.run()
            lakehouse.accounts()
    lakehouse.land(like, days=days)
    lakehouse.run()
    return moments
