"""The Makefile: nothing hidden, nothing in the wrong order, nothing removed by mistake."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def make(*arguments: str, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    # This test may itself run under make, which tells its children so.
    drop = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHON", "GEOSTRATA_STATE")
    env = {key: value for key, value in os.environ.items() if key not in drop}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder,
        env=env | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )


def targets() -> list[str]:
    text = (ROOT / "Makefile").read_text()
    return re.findall(r"^([a-z][a-z-]*):(?!=)", text, flags=re.MULTILINE)


def test_help_is_the_default_and_lists_every_target() -> None:
    done = make()
    assert done.returncode == 0
    listed = re.findall(r"^  make (\S+) +\S", done.stdout, flags=re.MULTILINE)
    assert listed == targets()


def test_every_target_is_phony() -> None:
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    phony = re.findall(r"^\.PHONY:(.*)$", text, flags=re.MULTILINE)[0].split()
    assert sorted(phony) == sorted(targets())


@pytest.mark.parametrize("jobs", ["-j1", "-j8"])
def test_tests_go_from_cheap_to_costly(jobs: str) -> None:
    commands = make("-n", jobs, "test").stdout
    order = [
        "bootstrap.py",
        "ruff check",
        "ruff format",
        "mypy",
        "sqlfluff lint",
        "side_by_side.py lifecycle-test integration landing-test spatial-test unit bench-small",
    ]
    places = [commands.index(part) for part in order]
    assert places == sorted(places)


@pytest.mark.parametrize("jobs", ["-j1", "-j8"])
def test_with_many_jobs_steps_still_follow_each_other(jobs: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "requirements.lock", tmp_path / "benchmarks")
    log = tmp_path / "log"
    program = f'#!/bin/sh\necho "begin $0 $*" >> {log}\nsleep 0.05\necho "end $0 $*" >> {log}\n'
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("ruff", "mypy", "sqlfluff", "pytest", "python"):
        (tmp_path / ".venv" / "bin" / name).write_text(program)
        (tmp_path / ".venv" / "bin" / name).chmod(0o755)
    done = make(jobs, "test", "PYTHON=true", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = log.read_text().splitlines()
    assert len(lines) >= 12
    for begin, end in zip(lines[::2], lines[1::2], strict=True):
        assert end == begin.replace("begin", "end", 1)


def test_a_named_python_is_taken_at_its_word() -> None:
    assert "--this-python" not in make("-n", "setup").stdout
    assert "python3.12 scripts/bootstrap.py --this-python" in make("-n", "setup", "PYTHON=python3.12").stdout
    assert "python3.12 scripts/bootstrap.py --this-python" in make("-n", "setup", PYTHON="python3.12").stdout


def test_scale_and_arguments_are_passed_on() -> None:
    assert "geostrata run --scale 5 --quiet" in make("-n", "run", "SCALE=5", "ARGS=--quiet").stdout


def test_clean_state_removes_the_state_and_nothing_else(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".geostrata" / "warehouse").mkdir(parents=True)
    assert make("clean-state", folder=tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]


@pytest.mark.parametrize("state", [".", "..", "{folder}", "{folder}/", "/", "{home}"])
def test_clean_state_refuses_a_folder_that_is_more_than_state(state: str, tmp_path: Path) -> None:
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    # Should the guard ever fail, this test must not remove anything either.
    harmless = tmp_path / "bin"
    harmless.mkdir()
    (harmless / "rm").write_text("#!/bin/sh\nexit 0\n")
    (harmless / "rm").chmod(0o755)
    path = f"{harmless}:{os.environ['PATH']}"
    where = state.format(folder=folder, home=home)
    done = make("clean-state", folder=folder, GEOSTRATA_STATE=where, HOME=str(home), PATH=path)
    assert done.returncode == 2
    assert f"make: {where} holds more than state; not removed\n" in done.stderr


def test_ci_calls_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "make --no-print-directory test" in script.read_text()
