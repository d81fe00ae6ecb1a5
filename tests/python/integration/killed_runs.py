"""dbt runs in processes of their own, killed as whole process groups: at random moments, and between the commits of one model."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from geostrata import demo, settings

BIN = Path(sys.executable).parent
HERE = Path(__file__).resolve().parent
COPIED = (
    "macros",
    "models",
    "seeds",
    "snapshots",
    "tests/generic",
    "tests/singular",
    "docs/blocks",
    "profiles",
)
# A run is killed after a part of what a whole one takes: a first guess, and what it took if it ended before.
EARLIEST, LATEST = 0.15, 0.95
A_RUN_S = 60
# A property of every table, edited before a kill that is placed: each model that has new rows then makes two commits at least.
PROPERTY = re.compile(r'(delta\.checkpointInterval: )"\d+"')


class Commit(NamedTuple):
    """Where a kill is placed: at which commit of a run to a table, and on which side of it."""

    table: str
    number: int
    side: str

    def __str__(self) -> str:
        return f"{self.side} commit {self.number} to {self.table}"


class Lakehouse:
    """A state folder and a copy of the project, built by dbt in processes of its own."""

    def __init__(self, state: Path, project: Path) -> None:
        self.state, self.project = state, project
        self._environment = {**os.environ, settings.STATE_VARIABLE: str(state)}
        root = settings.project_dir()
        for name in COPIED:
            shutil.copytree(root / name, project / name)
        for name in ("dbt_project.yml", "profiles.yml"):
            shutil.copy(root / name, project / name)

    def land(self, like: dict[str, Any], days: int) -> None:
        demo.generate(self.state / "landing", scale=like["scale"], seed=like["seed"], days=days)

    def edit_property(self, value: int) -> None:
        file = self.project / "dbt_project.yml"
        text, edits = PROPERTY.subn(rf'\g<1>"{value}"', file.read_text())
        assert edits == 1
        file.write_text(text)

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

    def kill_at(self, commit: Commit, *options: str) -> bool:
        """False if the run ended without that commit."""
        code = self._start(commit, *options).wait(900)
        assert code in (0, -signal.SIGKILL), (self.state / "dbt.out").read_text()[-3000:]
        return code != 0

    def accounts(self) -> list[dict[str, Any]]:
        done = subprocess.run(
            [str(BIN / "geostrata"), "account", "--json"],
            cwd=self.project,
            env=self._environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return list(json.loads(done.stdout))

    def _start(self, commit: Commit | None = None, *more: str) -> subprocess.Popen[bytes]:
        self.state.mkdir(parents=True, exist_ok=True)
        # Tests write nothing: they would only make the wait longer.
        options = ["--exclude-resource-type", "test", "--target-path", str(self.state / "target"), *more]
        program = [str(BIN / "dbt")]
        if commit:
            program = [sys.executable, str(HERE / "killed_dbt.py"), *map(str, commit)]
        with (self.state / "dbt.out").open("ab") as output:
            return subprocess.Popen(
                [*program, "build", *options],
                cwd=self.project,
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def disturb(
    lakehouse: Lakehouse, like: dict[str, Any], tables: list[str], kills: int, seed: int
) -> list[str]:
    """Lands the days of another town one by one and kills the runs that load them. Returns the moments, for the record."""
    chance = random.Random(seed)
    days = len(like["days"])
    moments: list[str] = []
    began = time.monotonic()
    for number in range(kills):
        lakehouse.land(like, days=1 + number * days // kills)
        if number % 2:
            moments.append(_kill_at_random(lakehouse, chance))
        else:
            moments.append(_kill_between_commits(lakehouse, chance, tables, number))
        print(f"kill {number + 1} of {kills} {moments[-1]}, {time.monotonic() - began:.0f} s", flush=True)
        if number % 5 == 4:
            lakehouse.run()
            lakehouse.accounts()
    lakehouse.land(like, days=days)
    lakehouse.run()
    return moments


def _kill_at_random(lakehouse: Lakehouse, chance: random.Random) -> str:
    seconds = chance.uniform(EARLIEST, LATEST) * A_RUN_S
    # A run with less to do may end before: then it says how long the next one takes.
    while (ended_after := lakehouse.kill_after(seconds)) is not None:
        seconds = chance.uniform(EARLIEST, LATEST) * ended_after
    return f"after {seconds:.1f} s"


def _kill_between_commits(lakehouse: Lakehouse, chance: random.Random, tables: list[str], number: int) -> str:
    lakehouse.edit_property(30 + number)
    # A table that is made makes one commit: a second one is waited for when most are there, and seldom, since a run may end without it.
    which = 2 if number >= 5 and chance.random() < 0.15 else 1
    commit = Commit(chance.choice(tables), which, chance.choice(["before", "after"]))
    # What was loaded by earlier deliveries of a file is in no file now: bronze is not made anew.
    is_refresh = chance.random() < 0.2 and not commit.table.startswith("bronze.")
    options = ["--full-refresh", "--exclude", "bronze"] if is_refresh and number >= 5 else []
    while not lakehouse.kill_at(commit, *options):
        # It had fewer commits to make than that. A new property is one at least.
        lakehouse.edit_property(60 + number)
        commit, options = commit._replace(number=1), []
    return f"{commit}{' of a full refresh' if options else ''}"
