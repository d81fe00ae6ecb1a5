"""The README is true: its commands are run as they stand there, in a copy of the project."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from town import Town

from geostrata import cli, settings

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
# `make test` is what runs this; `make run` is `geostrata run` after the set-up, which is tested below and in test_bootstrap.
OF_MAKE = {"make run", "make test"}
PROJECT_FILES = [
    "models",
    "macros",
    "seeds",
    "snapshots",
    "tests/generic",
    "tests/singular",
    "docs/blocks",
    "profiles",
]


def commands(section: str) -> list[str]:
    """The shell lines of the section with this heading."""
    text = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


@pytest.fixture
def project(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in PROJECT_FILES:
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "dbt_project.yml", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert settings.project_dir() == tmp_path
    return tmp_path


def run_dbt(town: Town, lines: list[str]) -> int:
    """Runs the dbt commands among the lines, in this process; the rest is known and tested elsewhere."""
    count = 0
    for line in lines:
        program, *arguments = shlex.split(line)
        if program == "dbt":
            town.dbt(*arguments)
            count += 1
        else:
            assert line == ". .venv/bin/activate"
    return count


def test_every_shell_command_is_known() -> None:
    lines = {
        line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()
    }
    tested = {*commands("Plain dbt"), *commands("An analyst's first edit"), *commands("Run it")}
    assert lines == tested
    assert set(commands("Run it")) == OF_MAKE


def test_plain_dbt_commands(town: Town, project: Path) -> None:
    activation, build, *others = commands("Plain dbt")
    assert build == "dbt build"
    before = town.data_files()
    run_dbt(town, [activation, build])
    # Nothing new has landed: nothing is written.
    assert town.data_files() == before
    assert run_dbt(town, others) == 11
    assert "telemetry_by_cell" in (project / "target/static_index.html").read_text()


def test_an_analysts_first_edit(town: Town, project: Path) -> None:
    path, sql = re.findall(r"```sql (models/\S+)\n(.*?)```", README, re.DOTALL)[0]
    (project / path).write_text(sql)
    assert run_dbt(town, commands("An analyst's first edit")) == 3
    found = {row["device_id"]: row["event_count"] for row in town.rows("gold.busiest_devices")}
    events = town.rows("silver.telemetry", ["device_id"])
    assert sum(found.values()) == len(events)
    assert found.keys() == {event["device_id"] for event in events}
    assert "busiest_devices" in (project / "target/static_index.html").read_text()
    town.sql("drop table gold.busiest_devices")


def test_the_summary_of_a_run(town: Town, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run"]) == 0
    out, err = capfd.readouterr()
    assert "Every landed row is accounted for.\nAll numbers equal the demo's manifest.\n" in out
    for entity, planted in town.manifest["entities"].items():
        assert re.search(rf"{entity} +{planted['landed']:,} +{planted['accepted']:,} ", out)
    for table in ("device_trips", "nearest_facility", "zone_summary"):
        assert re.search(rf"{table} +[\d,]+ +[\d.]+ [kM]?B", out)
    assert "Traceback" not in out + err and "WARN" not in out + err and "Exception" not in out + err
