"""The class archive only makes starts faster: whatever happens to it, a run goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from dbt.adapters.sedona import class_archive, session


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "share" / "classes-1.jsa"
    monkeypatch.setattr(class_archive, "archive_path", lambda _: found)
    return found


def test_an_archive_that_fails_ends_no_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.run

    def failing(command: list[str], **options: object) -> object:
        if "--exercise" not in command:
            return real(command, **options)  # type: ignore[call-overload]  # as it was called
        return real([sys.executable, "-c", "raise SystemExit('no space left')"], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(class_archive.subprocess, "run", failing)
    assert class_archive.is_wanted()
    assert class_archive.make() is None
    assert not class_archive.is_wanted(), "the next run does not lose a minute on it again"
    assert [file.name for file in path.parent.iterdir()] == ["classes-1.failed"]


def test_an_environment_that_can_t_be_written_to_ends_no_run(path: Path) -> None:
    path.parent.write_text("a file where the folder should be")
    assert class_archive.make() is None


def test_a_jvm_that_takes_long_to_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its archive is written when it ends, which took longer than half a minute on a busy machine."""
    from pyspark import SparkContext

    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], stdin=subprocess.PIPE)
    gateway = type("Gateway", (), {"proc": process, "shutdown": lambda self: None})()
    root = type("Root", (), {"stop": lambda self: None})()
    monkeypatch.setattr(SparkContext, "_gateway", gateway)
    monkeypatch.setattr(SparkContext, "_jvm", None)
    monkeypatch.setattr(session, "_root", root)
    session.stop(end_s=0.1)
    assert process.poll() is not None
    assert session._root is None
