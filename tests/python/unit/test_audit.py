"""`geostrata audit` on real tables: the figures, the budgets, the picture, the record."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import shapes, write_each, write_project
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction

from geostrata import cli, settings
from geostrata.tables.health import Health, examine
from geostrata.tables.project import ProjectTable
from geostrata.tables.state import read_state

WHOLE = [[0, 0, 1, 1], [9, 9, 10, 10]]


def tiles(count: int) -> list[list[float]]:
    """Side by side, with a gap between them."""
    return [[x + 0.1, y + 0.1, x + 0.9, y + 0.9] for x in range(count) for y in range(count)]


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tables of a project: four files over each other, and sixteen side by side."""
    write_project(
        tmp_path,
        {
            "silver.piled": {"config": {"layout": {"zorder": ["shape_id"]}}},
            "silver.tiled": {},
            "gold.unbuilt": {},
        },
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state"))
    folder = tmp_path / "state/warehouse"
    write_each(folder / "silver.db/piled", [shapes(WHOLE, number) for number in range(4)])
    write_each(folder / "silver.db/tiled", [shapes(tile) for tile in tiles(4)])
    return folder


def audit(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["audit", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def figures(capsys: pytest.CaptureFixture[str], *tables: str) -> dict[str, Any]:
    code, out, _ = audit(capsys, *tables, "--json")
    assert code == 0
    return {row["relation_name"]: row for row in json.loads(out)}


def test_figures_of_piled_and_tiled_files(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys)
    assert set(found) == {"silver.piled", "silver.tiled"}
    piled, tiled = found["silver.piled"], found["silver.tiled"]
    assert (piled["files"], piled["total_rows"], piled["table_version"]) == (4, 8, 3)
    assert piled["total_bytes"] == sum(
        file.stat().st_size for file in (warehouse / "silver.db/piled").glob("*.parquet")
    )
    assert (piled["small_files"], piled["versions_kept"], piled["tombstone_bytes"]) == (4, 4, 0)
    assert piled["overlap_depth"] == pytest.approx(4)
    assert tiled["overlap_depth"] == pytest.approx(1)
    # Every window meets all four; those of the tiles meet one to four of sixteen.
    assert piled["window_files"] == 4
    assert 1 <= tiled["window_files"] < 2
    assert (piled["clustered_share"], tiled["clustered_share"]) == (0, 1)
    assert piled["statistics_coverage"] == tiled["statistics_coverage"] == 1
    assert piled["commit_latency_s"] < 2
    assert piled["slow_commits"] == 0


def test_windows_against_asking_one_by_one(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    corners = chance.uniform(0, 1, (30, 2))
    given = np.column_stack([corners, corners + chance.uniform(0.01, 0.4, (30, 2))])
    write_each(tmp_path, [shapes(box) for box in given])
    state = read_state(tmp_path)
    health = examine(ProjectTable("t", str(tmp_path)), state)
    low, high = given[:, :2].min(axis=0), given[:, 2:].max(axis=0)
    step = (high - low) / 10
    counts, read = [], []
    for row in range(10):
        for column in range(10):
            x0, y0 = low + step * (column, row)
            x1, y1 = x0 + step[0], y0 + step[1]
            hit = [
                size
                for box, size in zip(state.files.boxes, state.files.sizes, strict=True)
                if box[0] <= x1 and box[2] >= x0 and box[1] <= y1 and box[3] >= y0
            ]
            if hit:
                counts.append(len(hit))
                read.append(sum(hit))
    assert health.window_files == pytest.approx(np.mean(counts))
    assert health.window_bytes == pytest.approx(np.mean(read))
    # All together they are smaller than one file should be: the best that can be done is to read it all.
    assert health.window_files_ideal == 1
    assert health.window_bytes_ideal == pytest.approx(state.bytes)


def test_ideal_of_a_table_with_a_target(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes(np.repeat([[0, 0, 10, 10]], 2000, axis=0)) for _ in range(4)])
    state = read_state(tmp_path)
    target = state.bytes // 50
    health = examine(ProjectTable("t", str(tmp_path), layout={"target_file_size": target}), state)
    # A hundredth of the extent holds a hundredth of the bytes: half a file, so one.
    assert health.window_files_ideal == 1
    assert health.window_bytes_ideal == target
    assert health.read_amplification == pytest.approx(state.bytes / target)


def test_a_file_without_statistics_is_met_everywhere(tmp_path: Path) -> None:
    table = write_each(tmp_path, [shapes(tile) for tile in tiles(4)])
    pq.write_table(shapes([5, 5, 6, 6]), tmp_path / "unknown.parquet")
    size = (tmp_path / "unknown.parquet").stat().st_size
    added = AddAction("unknown.parquet", size, {}, 1, True, '{"numRecords": 1}')
    table.create_write_transaction([added], "append", table.schema())
    health = examine(ProjectTable("t", str(tmp_path)), read_state(tmp_path))
    assert health.statistics_coverage == pytest.approx(16 / 17)
    # Its box is the whole extent of the others, 3.8 by 3.8, over tiles of 0.8 by 0.8.
    assert health.overlap_depth == pytest.approx(1 + 16 * 0.64 / 3.8**2)
    # The tiles lie under one file, each with a depth of two; it, over tiles that fill 71 % of it.
    assert health.clustered_share == 0


def test_a_table_without_a_place(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"a": [1]}))
    health = examine(ProjectTable("t", str(tmp_path)), read_state(tmp_path))
    assert health.overlap_depth is health.window_files is health.clustered_share is None


def test_an_empty_table(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path, shapes([]).schema)
    health = examine(ProjectTable("t", str(tmp_path)), read_state(tmp_path))
    assert (health.files, health.total_bytes, health.overlap_depth) == (0, 0, None)
    assert health.clustered_share == 1


def test_files_that_were_ordered_count_as_clustered(tmp_path: Path) -> None:
    table = write_each(tmp_path, [shapes(WHOLE) for _ in range(3)])
    known = ProjectTable("t", str(tmp_path))
    assert examine(known, read_state(tmp_path)).clustered_share == 0
    table.optimize.z_order(["shape_id"])
    write_each(tmp_path, [shapes(WHOLE) for _ in range(2)])
    assert examine(known, read_state(tmp_path)).clustered_share == pytest.approx(6 / 10)


@pytest.mark.usefixtures("warehouse")
def test_tables_are_named_or_given_by_path(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(figures(capsys, "tiled")) == ["silver.tiled"]
    assert list(figures(capsys, "silver.tiled", "silver.piled")) == ["silver.tiled", "silver.piled"]
    assert set(figures(capsys, "silver")) == {"silver.tiled", "silver.piled"}
    assert list(figures(capsys, str(warehouse / "silver.db/piled"))) == ["silver.piled"]


def test_a_path_needs_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_each(tmp_path / "lone", [shapes(WHOLE)])
    monkeypatch.chdir(tmp_path)
    assert list(figures(capsys, "./lone")) == ["./lone"]


@pytest.mark.usefixtures("warehouse")
def test_the_terminal_shows_a_line_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = audit(capsys)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split()[:4] == ["rows", "size", "files", "small"]
    assert [line.split()[0] for line in lines[1:]] == ["silver.piled", "silver.tiled"]
    assert "4.0" in lines[1]


@pytest.mark.usefixtures("warehouse")
def test_slow_commits_are_told_of(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import os

    commit = warehouse / "silver.db/piled/_delta_log/00000000000000000002.json"
    late = commit.stat().st_mtime + 4
    os.utime(commit, (late, late))
    _, out, _ = audit(capsys, "piled")
    assert "silver.piled: 1 of its newest commits" in out
    assert "took over 2 s, the longest 4." in out


@pytest.mark.usefixtures("warehouse")
def test_budgets_decide_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(capsys, "--fail-on", "overlap_depth>4.5", "--fail-on", "total_bytes>1gb")[0] == 0
    code, out, _ = audit(capsys, "--fail-on", "overlap_depth > 3", "--fail-on", "clustered_share<50%")
    assert code == 1
    assert out.splitlines()[-2:] == [
        "Over budget: silver.piled has overlap_depth 4 (overlap_depth > 3)",
        "Over budget: silver.piled has clustered_share 0 (clustered_share<50%)",
    ]
    code, out, err = audit(capsys, "--json", "--fail-on", "files>=4")
    assert code == 1
    assert len(json.loads(out)) == 2
    assert err.count("Over budget: ") == 2


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fail-on", "overlap>3"], "overlap is no figure of the audit; did you mean overlap_depth?"),
        (["--fail-on", "zzz>3"], "zzz is no figure of the audit; there are table_version, "),
        (["--fail-on", "overlap_depth=3"], "write a figure, one of > >= < <=, and a number"),
        (["--fail-on", "files>many"], "'many' is no number that files can have"),
        (["pilled"], "pilled: no such table among the 2 that are built; did you mean piled?"),
        (["gold.unbuilt"], "gold.unbuilt: no such table among the 2 that are built; name a table"),
        (["./nothing"], "./nothing: no Delta table is here (no _delta_log)"),
        (["--picture", "a.svg"], "--picture draws one table, and 2 were chosen: name one"),
        (["piled", "--picture", "a.png"], "a.png: pictures are written as SVG; name the file a.svg"),
        (["piled", "--before", "1"], "--before is drawn: name the picture as well"),
        (["piled", "--picture", "a.svg", "--before", "99"], "can't be read at version 99"),
        (["--record"], "ops.table_health is not built yet: run `dbt run --select table_health` once"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = audit(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_without_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: trial\n")
    monkeypatch.chdir(tmp_path)
    code, _, err = audit(capsys)
    assert code == 2
    assert "run `dbt parse` first" in err


def test_the_picture_shows_every_file_of_both_versions(
    warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    DeltaTable(warehouse / "silver.db/tiled").optimize.compact()
    drawn = tmp_path / "tiled.svg"
    assert audit(capsys, "tiled", "--picture", str(drawn), "--before", "15")[0] == 0
    root = ET.fromstring(drawn.read_text())  # noqa: S314  # our own
    name = "{http://www.w3.org/2000/svg}"
    before, after = (group.findall(f"{name}rect") for group in root.iter(f"{name}g"))
    assert (len(before), len(after)) == (16, 1)
    texts = [text.text for text in root.iter(f"{name}text")]
    assert texts[:2] == ["silver.tiled, version 15", "16 files, 1.0 deep"]
    assert "1 file, 1.0 deep" in texts
    # The one that holds all is as large as what it is drawn on.
    frame = [rect for rect in root.iter(f"{name}rect") if rect.get("class") == "frame"][1]
    for side in ("x", "y", "width", "height"):
        assert float(after[0].get(side, 0)) == pytest.approx(float(frame.get(side, 0)), abs=0.2)
    # North is up: the tile with the greatest y is the highest, and all lie in their frame.
    assert min(float(rect.get("y", 0)) for rect in before) == pytest.approx(float(frame.get("y", 0)), abs=0.2)


def test_figures_are_recorded(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "float | None": pa.float64()}
    columns = {name: kinds[str(kind)] for name, kind in Health.__annotations__.items()}
    schema = pa.schema([*columns.items(), ("recorded_at", pa.timestamp("us", "UTC"))])
    DeltaTable.create(warehouse / "ops.db/table_health", schema)
    for _ in range(2):
        assert audit(capsys, "--record")[0] == 0
    rows = DeltaTable(warehouse / "ops.db/table_health").to_pyarrow_table().to_pylist()
    assert sorted(row["relation_name"] for row in rows) == ["silver.piled"] * 2 + ["silver.tiled"] * 2
    assert len({row["recorded_at"] for row in rows}) == 2
    assert {row["overlap_depth"] for row in rows if row["relation_name"] == "silver.piled"} == {4.0}
