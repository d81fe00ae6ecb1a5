"""The landing folder: determinism, resumption and errors."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from geostrata import demo

SMALL = 0.01


def contents(landing: Path) -> dict[str, bytes]:
    """Every file, hidden ones too."""
    return {
        str(path.relative_to(landing)): path.read_bytes() for path in landing.rglob("*") if path.is_file()
    }


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="geostrata demo")
    demo.add_arguments(parser)
    return demo.run(parser.parse_args(arguments))


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("landing")
    demo.generate(out, scale=SMALL, days=5)
    return out


def test_every_kind_of_fault_is_there_at_the_smallest_scale(tmp_path: Path) -> None:
    manifest = demo.generate(tmp_path, scale=SMALL)
    assert manifest["days"] == [1, 2, 3]
    for entity, counts in manifest["entities"].items():
        assert all(counts["faults"].values()), (entity, counts["faults"])
        assert all(counts["expectations"].values()), (entity, counts["expectations"])


def test_the_same_arguments_give_the_same_bytes(landing: Path, tmp_path: Path) -> None:
    demo.generate(tmp_path, scale=SMALL, days=5)
    assert contents(tmp_path) == contents(landing)


def test_another_seed_gives_another_town(landing: Path, tmp_path: Path) -> None:
    demo.generate(tmp_path, scale=SMALL, seed=2, days=1)
    name = "parcels/geoparquet/day_0001_part_000.parquet"
    assert contents(tmp_path)[name] != contents(landing)[name]


def test_days_added_one_by_one_equal_days_made_at_once(landing: Path, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    assert run(*out, "--scale", str(SMALL), "--day", "1") == 0
    assert run(*out) == 0
    assert json.loads((tmp_path / "manifest.json").read_text())["days"] == [1, 2, 3]
    assert run(*out, "--day", "4") == 0
    assert run(*out, "--day", "5", "--seed", "1", "--scale", "0.01") == 0
    assert contents(tmp_path) == contents(landing)


def test_a_complete_landing_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.generate(tmp_path, scale=SMALL)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert run("--out", str(tmp_path)) == 0
    assert "nothing to do" in capsys.readouterr().out
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert before == after


@pytest.mark.parametrize("files_written", [0, 1, 4, 8])
def test_a_failed_generation_is_resumed(landing: Path, tmp_path: Path, files_written: int) -> None:
    """Stopped after some files, with a torn temporary file left: the next run completes it."""
    written = []

    def stop(path: str, rows: int) -> None:
        written.append(path)
        if len(written) > files_written:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo.generate(tmp_path, scale=SMALL, days=5, progress=stop)
    assert not (tmp_path / "manifest.json").exists()
    (tmp_path / "telemetry").mkdir(exist_ok=True)
    (tmp_path / "telemetry" / ".day_0001_part_000.jsonl.tmp").write_text('{"event_id"')
    first = tmp_path / written[0]
    made_at = first.stat().st_mtime_ns
    demo.generate(tmp_path, scale=SMALL, days=5)
    assert contents(tmp_path) == contents(landing)
    # A file that was complete may have been ingested already: it must not look like a new one.
    assert first.stat().st_mtime_ns == made_at


def test_a_killed_process_is_resumed(landing: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from geostrata import demo\n"
        "os.replace = lambda a, b: os._exit(9) if 'day_0003' in str(b) else "
        "os.rename(a, b)\n"
        f"demo.generate(Path(sys.argv[1]), scale={SMALL}, days=5)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment)
    assert killed.returncode == 9
    assert list(tmp_path.rglob(".*.tmp"))
    demo.generate(tmp_path, scale=SMALL, days=5)
    assert contents(tmp_path) == contents(landing)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scale", "0"], "scale must be a number above 0, got 0"),
        (["--scale", "-1"], "scale must be a number above 0, got -1"),
        (["--scale", "nan"], "scale must be a number above 0, got nan"),
        (["--scale", "1e9"], "the town holds"),
        (["--scale", "big"], "scale must be a number above 0, got big"),
        (["--seed", "x"], "seed must be a whole number, got x"),
        (["--days", "few"], "days must be a whole number, got few"),
        (["--day", "1.5"], "day must be a whole number, got 1.5"),
        (["--seed", "-1"], "seed must be"),
        (["--days", "0"], "days must be 1 to"),
        (["--day", "0"], "day must be 1 to"),
        (["--day", "4"], "day 4 needs day 3"),
    ],
)
def test_bad_arguments_give_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--out", str(tmp_path / "new"), *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "new").exists() or not contents(tmp_path / "new")


@pytest.mark.parametrize("arguments", [["--seed", "2"], ["--scale", "0.02"], ["--scale", "1"]])
def test_another_town_is_not_mixed_in(
    arguments: list[str], landing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(landing)
    assert run("--out", str(landing), "--day", "6", *arguments) == 2
    assert "was generated with seed 1 and scale 0.01" in capsys.readouterr().err
    assert contents(landing) == before


def test_a_skipped_day_is_refused(landing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--out", str(landing), "--day", "7") == 2
    assert "day 7 needs day 6" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert run("--out", str(out), "--scale", "0.01") == 2
        error = capsys.readouterr().err
        assert "cannot write to" in error and "file" in error and error.count("\n") == 1


def test_an_interrupt_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("geostrata.demo.telemetry.write_lines", interrupt)
    assert run("--out", str(tmp_path), "--scale", str(SMALL)) == 130
    assert "goes on from here" in capsys.readouterr().err


def test_foreign_files_and_damaged_manifests_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "parcels").mkdir()
    (tmp_path / "parcels" / "mine.parquet").write_text("")
    assert run("--out", str(tmp_path)) == 2
    assert "holds files but no manifest.json" in capsys.readouterr().err
    (tmp_path / "manifest.json").write_text('{"seed"')
    assert run("--out", str(tmp_path)) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_two_generations_at_once_are_refused(tmp_path: Path) -> None:
    def second(path: str, rows: int) -> None:
        with pytest.raises(demo.DemoError, match="another generation"):
            demo.generate(tmp_path, scale=SMALL)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo.generate(tmp_path, scale=SMALL, progress=second)


def test_the_default_place_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEOSTRATA_STATE", raising=False)
    assert demo.default_landing() == Path(".geostrata/landing")
    monkeypatch.setenv("GEOSTRATA_STATE", "elsewhere")
    assert demo.default_landing() == Path("elsewhere/landing")
