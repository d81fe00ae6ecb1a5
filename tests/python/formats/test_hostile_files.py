"""Files that mean harm: a worker and add-source end with each of them, in bounded time and memory, and sound files beside them load whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hostile_corpus
import pytest

from geostrata.readers.limits import FileLimits

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))
from test_add_source import copy_project

LIMITS = FileLimits.of(hostile_corpus.LIMITS)
# Looked at, read, and examined; and a machine that is busy with something else.
LONGEST_S = 2 * LIMITS.deadline_s + 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def corpus(folder: Path) -> list[hostile_corpus.Hostile]:
    return hostile_corpus.write_hostile(folder)


@pytest.fixture(scope="module")
def landed(folder: Path, corpus: list[hostile_corpus.Hostile]) -> dict[str, Any]:
    script = Path(hostile_corpus.__file__).with_name("hostile_run.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(folder)],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(script.parent)},
        timeout=3600,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_there_are_many_and_of_every_format(corpus: list[hostile_corpus.Hostile]) -> None:
    assert len(corpus) >= 300
    assert {one.format for one in corpus} == set(hostile_corpus.ENDINGS)


def test_each_file_is_landed_or_refused_in_bounded_time(landed: dict[str, Any]) -> None:
    for file in landed["files"]:
        # A file that can't be read is a row that says so; one that is not all there is left before it is read.
        assert file["rows"] > 0, file
        assert file["seconds"] < LONGEST_S + file["rows"] / 1000, file


def test_memory_stays_that_of_a_worker(landed: dict[str, Any]) -> None:
    """The readers' own is bounded by the limit that they are given."""
    assert landed["peak_bytes"] < 1_000_000_000


def test_sound_files_beside_them_load_whole(landed: dict[str, Any]) -> None:
    good = [file for file in landed["files"] if Path(file["path"]).stem == hostile_corpus.GOOD]
    assert len(good) == len(hostile_corpus.ENDINGS)
    for file in good:
        assert (file["problem"], file["rows"], file["readable"]) == (None, *2 * (hostile_corpus.GOOD_ROWS,))


def test_a_name_a_column_and_a_crs_cost_no_row(landed: dict[str, Any]) -> None:
    """Whatever they are, the rows are there: only a CRS that is longer than any is refused."""
    harmless = [
        file
        for file in landed["files"]
        if not any(word in Path(file["path"]).name for word in (" crs ", " value ", "column 9"))
        and Path(file["path"]).name[4:].rsplit(".", 1)[0] not in _bombs()
    ]
    assert len(harmless) > 150
    for file in harmless:
        assert (file["problem"], file["rows"]) == (None, hostile_corpus.GOOD_ROWS), file


def _bombs() -> set[str]:
    return {label.rsplit(".", 1)[0] for bombs in hostile_corpus.BOMBS.values() for label in bombs}


def test_none_of_them_stops_add_source(
    corpus: list[hostile_corpus.Hostile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from geostrata import cli
    from geostrata.add_source import sampling

    monkeypatch.setattr(sampling, "_BOUNDS", LIMITS)
    monkeypatch.chdir(copy_project(tmp_path))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    codes = []
    for one in corpus:
        started = time.monotonic()
        codes.append(
            cli.main(["add-source", str(one.path), "--name", "things", "--key", "thing_id", "--dry-run"])
        )
        assert time.monotonic() - started < LONGEST_S, one.path
    assert set(codes) <= {0, 1, 2}
    # Most are good but for one thing, and can be added.
    assert codes.count(0) > len(codes) / 4
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
