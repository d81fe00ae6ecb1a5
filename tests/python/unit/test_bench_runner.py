"""The benchmark's processes: what is measured of them, and that each way to fail is told in words."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.spatial import answers, runner, watch
from benchmarks.spatial.cases import CASES
from benchmarks.spatial.data import Data
from benchmarks.spatial.runner import NotMeasuredError, OvertimeError, Runner

# A worker that says what it is told to, and leaves an answer.
FAKE = """
import json, sys, time
import numpy as np
spec = json.loads(sys.stdin.readline())
def tell(**words):
    print(json.dumps(words), flush=True)
tell(event="ready", steps={"zones-load": 1.5})
%s
np.savez(spec["answer"], point_id=np.arange(3))
tell(event="done", extras={"bytes_read": 7})
"""
RUNS = """
tell(event="warm", wall_s=9)
for wall_s in (9.0, 1.0, 2.0):
    time.sleep(0.05)
    tell(event="run", wall_s=wall_s, cpu_s=wall_s * 2, others_s=wall_s / 2)
"""


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def bench(tmp_path: Path, said: list[str]) -> Iterator[Runner]:
    with Runner(tmp_path, repeats=3, limit_s=30, say=said.append) as runner:
        yield runner


def play(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(runner, "WORKER", [sys.executable, "-c", FAKE % script])


def test_the_median_of_the_runs_counts_and_the_first_does_not(
    monkeypatch: pytest.MonkeyPatch, bench: Runner, said: list[str]
) -> None:
    play(monkeypatch, RUNS)
    step, row = bench.measure(CASES["zones"], Data(bench.folder, 500_000), "postgis")
    assert (step.case, step.wall_s, step.answer) == ("zones-load", 1.5, None)
    assert (row.case, row.size, row.engine, row.wall_s, row.cpu_s) == ("zones", 0.5, "postgis", 2.0, 4.0)
    assert row.peak_mb is not None
    assert row.peak_mb > 1
    assert row.answer is not None
    assert row.answer.startswith("3 rows, ")
    assert row.extras == {"bytes_read": 7, "others_cores": 0.5}
    assert said == ["zones-load 1.50 s", "first 9.00 s", "9.00 s", "1.00 s", "2.00 s"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('tell(event="unavailable", why="there is no such program"); sys.exit()', "there is no such program"),
        ('raise SystemExit("the last word")', "failed: the last word"),
        ("sys.exit()", "failed: exit code 0"),
    ],
)
def test_why_there_is_no_figure_is_told(
    monkeypatch: pytest.MonkeyPatch, bench: Runner, script: str, words: str
) -> None:
    play(monkeypatch, script)
    with pytest.raises(NotMeasuredError, match=words):
        bench.measure(CASES["zones"], Data(bench.folder, 500_000), "postgis")


def test_who_takes_too_long_is_ended_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    play(
        monkeypatch,
        f"""
import subprocess
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
open({str(child)!r}, "w").write(str(child.pid))
time.sleep(60)
""",
    )
    began = time.monotonic()
    with Runner(tmp_path, 1, 1.5, print) as runner, pytest.raises(OvertimeError):
        runner.measure(CASES["zones"], Data(tmp_path, 500_000), "postgis")
    assert time.monotonic() - began < 20
    status = Path(f"/proc/{child.read_text()}/stat")
    assert not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_for_answers_alone_one_process_serves_an_engine_until_it_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answering = """
import json, os, sys
import numpy as np
for line in sys.stdin:
    spec = json.loads(line)
    if spec["case"] == "parcels":
        sys.exit("not that one")
    np.savez(spec["answer"], process_id=np.array([os.getpid()]))
    print(json.dumps({"event": "done", "extras": {}}))
    print(json.dumps({"event": "end"}), flush=True)
"""
    monkeypatch.setattr(runner, "WORKER", [sys.executable, "-c", answering])
    data = Data(tmp_path, 500_000)
    answered_by = []
    with Runner(tmp_path, 0, 30, print) as bench:
        for case in ("zones", "nearest", "parcels", "window"):
            try:
                assert bench.measure(CASES[case], data, "duckdb") == []
            except NotMeasuredError as reason:
                assert str(reason) == "failed: not that one"
                continue
            found = answers.load(bench.answer_file(CASES[case], data, "duckdb"))
            answered_by.append(int(found["process_id"][0]))
    first, second, third = answered_by
    assert first == second != third
    assert not Path(f"/proc/{third}").exists()


def test_an_engine_in_its_own_process_answers(tmp_path: Path) -> None:
    pytest.importorskip("geopandas")
    with Runner(tmp_path, 1, 120, print) as runner:
        rows = runner.measure(CASES["overlay-areas"], Data(tmp_path, 1_000), "geopandas")
    assert [row.case for row in rows] == ["overlay-areas"]
    assert rows[0].size == 50 / 1e6
    assert rows[0].answer


def test_a_tree_of_processes_is_measured_as_a_whole() -> None:
    before, machine = watch.cpu_seconds(os.getpid()), watch.machine_cpu_seconds()
    hungry = """
import time
held = bytearray(100_000_000)
while time.process_time() < 0.5:
    pass
print(flush=True)
input()
"""
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hungry!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", starts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        assert len(watch.tree(parent.pid)) == 2
        assert watch.memory_mb(parent.pid) > 95
        running = watch.cpu_seconds(parent.pid)
        assert running > 0.4
        parent.communicate("\n")
    # What has ended is still counted by whoever waited for it. A test's own process uses far less here.
    assert watch.cpu_seconds(os.getpid()) - before >= running
    # To a tick a core, in which the kernel counts.
    assert watch.machine_cpu_seconds() - machine >= running - 0.1
