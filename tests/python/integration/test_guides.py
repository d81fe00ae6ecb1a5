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
# Two hundred sound trees, and two that are not where a tree can be.
SOUND = [f"{number};oak;{15 + number / 1000};48.1;2024-05-01T00:00:00Z" for number in range(1, 201)]
TREES = "\n".join(
    [
        "tree_no;species;lon;lat;last_modified",
        *SOUND,
        "201;ash;;48.2;2024-05-01T00:00:00Z",
        "202;fir;915.6;48.2;2024-05-01T00:00:00Z",
    ]
)


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
    trees = {row["tree_id"]: row["species"] for row in town.rows("silver.trees")}
    assert trees == {str(number): "oak" for number in range(1, 201)}
    (account,) = [account for account in ledger.accounts() if account.entity == "trees"]
    placed = (account.accepted, account.quarantined, account.superseded)
    assert (account.landed, placed) == (202, (200, 2, 0))
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
