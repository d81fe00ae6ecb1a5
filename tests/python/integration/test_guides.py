"""The guides are true: the commands of docs/add-a-source.md are run as they stand there, in a copy of the project."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_readme import PROJECT_FILES, ROOT
from town import Town

from geostrata import cli, ledger

GUIDE = (ROOT / "docs/add-a-source.md").read_text()
DELIVERED = "~/downloads/trees-2024-05-01.csv"
TREES = """tree_no;species;lon;lat;last_modified
1;oak;15.5;48.1;2024-05-01T00:00:00Z
2;elm;15.6;48.2;2024-05-01T00:00:00Z
2;elm, felled;15.6;48.2;2024-05-02T00:00:00Z
3;ash;;48.2;2024-05-01T00:00:00Z
4;fir;915.6;48.2;2024-05-01T00:00:00Z
"""


def commands(text: str) -> list[str]:
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


@pytest.fixture
def project(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    copy = tmp_path / "project"
    for name in PROJECT_FILES:
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "dbt_project.yml", copy)
    # The guide speaks of the state where it lies by default.
    (copy / ".geostrata").symlink_to(town.state)
    (tmp_path / "trees.csv").write_text(TREES)
    before = Path.cwd()
    monkeypatch.chdir(copy)
    yield copy
    monkeypatch.chdir(before)
    # The town's own views again, which know nothing of trees.
    town.dbt("run", "--select", "ops")
    for table in ("bronze.raw_trees", "silver.trees_checked", "silver.trees"):
        town.sql(f"drop table if exists {table}")
    shutil.rmtree(town.state / "landing" / "trees")


def test_add_a_source(town: Town, project: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for line in commands(GUIDE):
        program, *arguments = shlex.split(line.replace(DELIVERED, str(tmp_path / "trees.csv")))
        if program == "dbt":
            town.dbt(*arguments)
        elif program == "geostrata":
            assert cli.main(arguments) == 0, line
        else:
            assert program in ("mkdir", "cp"), line
            subprocess.run([program, *arguments], check=True)
    assert {row["tree_id"]: row["species"] for row in town.rows("silver.trees")} == {
        "1": "oak",
        "2": "elm, felled",
    }
    (trees,) = [account for account in ledger.accounts() if account.entity == "trees"]
    assert (trees.landed, trees.accepted, trees.quarantined, trees.superseded) == (5, 2, 2, 1)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
