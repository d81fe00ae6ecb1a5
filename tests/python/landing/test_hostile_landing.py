"""Files that mean harm, through Spark: the run goes on, and the sound files beside them are in silver."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from lakehouse import Lakehouse
from project_files import FORMATS
from test_arrivals import balanced

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "formats"))
import hostile_corpus


@pytest.fixture
def bounded(lakehouse: Lakehouse) -> None:
    lakehouse.forget("things")
    for name in FORMATS:
        lakehouse.declare(f"things_{name}", limits=hostile_corpus.LIMITS)


@pytest.mark.usefixtures("bounded")
# Minutes: `make test-formats` runs it.
@pytest.mark.skipif("HOSTILE_FILES" not in os.environ, reason="make test-formats runs it")
def test_hostile_files_stop_no_run(lakehouse: Lakehouse, tmp_path: Path) -> None:
    corpus = hostile_corpus.write_hostile(tmp_path / "corpus")
    for name in FORMATS:
        target = lakehouse.landing / "things" / name
        for path in (tmp_path / "corpus" / name).iterdir():
            path.rename(target / path.name)
        os.mkfifo(target / "pipe.csv")
        (target / "circle").symlink_to(target)
        (target / "out.csv").symlink_to("/etc/passwd")
    try:
        said = lakehouse.told("run", "--select", "+things")
    finally:
        for name in FORMATS:
            for path in (lakehouse.landing / "things" / name).iterdir():
                path.unlink()
    assert said.count(
        "circle (a link in a circle), out.csv (a link out of the folder), pipe.csv (a pipe)"
    ) == len(FORMATS)
    assert "\x1b]0;" not in said
    landed: dict[str, int] = {}
    for name in FORMATS:
        for row in lakehouse.rows(f"bronze.raw_things_{name}"):
            landed[row["_source_file"]] = landed.get(row["_source_file"], 0) + 1
    # All but those that are not all there yet are in bronze, if only as the row that says what is wrong.
    assert len(landed) > 0.9 * len(corpus)
    for name, ending in hostile_corpus.ENDINGS.items():
        path = lakehouse.landing / "things" / name / f"{hostile_corpus.GOOD}.{ending}"
        assert landed[str(path)] == hostile_corpus.GOOD_ROWS
    account = balanced(lakehouse, "things")
    assert account["landed"] == sum(landed.values())
    assert account["quarantined"] > 50
