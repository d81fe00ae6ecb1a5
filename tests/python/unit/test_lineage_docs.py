"""When the lineage docs are made again, and when not."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from geostrata import lineage_docs


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose page was made, an hour after its newest file."""
    for name in ("dbt_project.yml", "models/gold/a.sql", "target/static_index.html", ".geostrata/logs/x.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    for path in tmp_path.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000))
    os.utime(tmp_path / "target" / "static_index.html", (1_003_600, 1_003_600))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GEOSTRATA_STATE", raising=False)
    lineage_docs._mark().write_text(lineage_docs._identity([]))
    return tmp_path


def build(kind: str = "model", materialized: str = "incremental", message: str = "NOTHING NEW") -> Any:
    node = SimpleNamespace(resource_type=kind, config=SimpleNamespace(materialized=materialized))
    return SimpleNamespace(results=[SimpleNamespace(node=node, message=message)])


@pytest.mark.parametrize(
    "nothing_written",
    [
        build(),
        build(kind="snapshot", materialized="snapshot"),
        build(materialized="view", message="OK"),
        build(kind="test", materialized="test", message="PASS"),
    ],
)
def test_current_when_nothing_was_written(project: Path, nothing_written: Any) -> None:
    assert lineage_docs.are_current(nothing_written, [])


def test_not_current_after_a_write(project: Path) -> None:
    assert not lineage_docs.are_current(build(message="OK"), [])


@pytest.mark.parametrize("name", ["dbt_project.yml", "models/gold/a.sql", "models/gold/new.sql"])
def test_not_current_after_an_edit(project: Path, name: str) -> None:
    (project / name).write_text("edited")
    assert not lineage_docs.are_current(build(), [])


def test_not_current_if_a_model_was_removed(project: Path) -> None:
    (project / "models/gold/a.sql").unlink()
    assert not lineage_docs.are_current(build(), [])


def test_not_current_for_another_target(project: Path) -> None:
    assert not lineage_docs.are_current(build(), ["--target", "cluster"])


def test_not_current_if_the_page_is_of_another_state_or_gone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEOSTRATA_STATE", "elsewhere")
    assert not lineage_docs.are_current(build(), [])
    monkeypatch.delenv("GEOSTRATA_STATE")
    (project / "target" / "static_index.html").unlink()
    assert not lineage_docs.are_current(build(), [])
