"""What a Delta log says of a table: every figure against the table that was written."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from delta_tables import shapes, write_each, write_many
from deltalake import DeltaTable, write_deltalake

from geostrata.errors import GeostrataError
from geostrata.tables.state import read_state

BOXES = [[[0, 0, 1, 1], [4, 5, 6, 7]], [[2, 2, 3, 3]], [[8, 8, 9, 9]]]


def test_files_of_a_version(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes(part) for part in BOXES])
    state = read_state(tmp_path)
    assert (state.version, len(state.files), state.rows) == (2, 3, 4)
    assert state.bytes == sum(file.stat().st_size for file in tmp_path.glob("*.parquet"))
    assert sorted(state.files.boxes.tolist()) == [[0, 0, 6, 7], [2, 2, 3, 3], [8, 8, 9, 9]]
    assert state.is_spatial
    assert state.columns[:3] == ("shape_id", "geometry", "bbox.xmin")
    assert state.files.statistics["bbox.ymax"].all()
    assert "geometry" not in state.files.statistics
    now = time.time() * 1000
    assert all(now - 60_000 < modified <= now for modified in state.files.modified_ms)
    earlier = read_state(tmp_path, 0)
    assert (earlier.version, len(earlier.files), earlier.rows) == (0, 1, 2)
    assert len(earlier.log.commits) == 1


def test_files_without_statistics(tmp_path: Path) -> None:
    table = shapes(BOXES[0])
    write_deltalake(tmp_path, table, configuration={"delta.dataSkippingStatsColumns": "shape_id"})
    state = read_state(tmp_path)
    assert np.isnan(state.files.boxes).all()
    assert set(state.files.statistics) == {"shape_id"}


def test_partitions(tmp_path: Path) -> None:
    table = shapes(BOXES[0], day=["mon", "tue"])
    write_deltalake(tmp_path, table, partition_by=["day"])
    state = read_state(tmp_path)
    assert state.partition_columns == ("day",)
    assert sorted(state.files.partitions) == [("mon",), ("tue",)]


@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_removed_files_are_counted_until_they_are_gone(tmp_path: Path, with_checkpoint: bool) -> None:
    table = write_each(tmp_path, [shapes(part) for part in BOXES])
    removed = read_state(tmp_path).bytes
    table.optimize.compact()
    if with_checkpoint:
        table.create_checkpoint()
        for commit in sorted((tmp_path / "_delta_log").glob("*.json"))[:-1]:
            commit.unlink()
    state = read_state(tmp_path)
    assert len(state.files) == 1
    assert sum(stone.size for stone in state.log.dead) == removed
    DeltaTable(tmp_path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert read_state(tmp_path).log.dead == []


def test_a_vacuum_that_keeps_files_keeps_them_in_the_count(tmp_path: Path) -> None:
    table = write_each(tmp_path, [shapes(part) for part in BOXES])
    table.optimize.compact()
    table.vacuum(200, dry_run=False)
    assert len(list(tmp_path.glob("*.parquet"))) == 4
    assert len(read_state(tmp_path).log.dead) == 3


def test_a_file_that_came_back_is_alive(tmp_path: Path) -> None:
    table = write_each(tmp_path, [shapes(part) for part in BOXES])
    table.delete()
    assert len(read_state(tmp_path).log.dead) == 3
    DeltaTable(tmp_path).restore(2)
    state = read_state(tmp_path)
    assert (len(state.files), state.log.dead) == (3, [])


def test_only_what_was_ordered_counts_as_ordered(tmp_path: Path) -> None:
    table = write_each(tmp_path, [shapes(part) for part in BOXES])
    table.optimize.compact()
    assert read_state(tmp_path).files.ordered_by == [()]
    write_each(tmp_path, [shapes(BOXES[1])])
    DeltaTable(tmp_path).optimize.z_order(["shape_id"])
    write_each(tmp_path, [shapes(BOXES[2])])
    orders = dict(
        zip(*(lambda files: (files.rows.tolist(), files.ordered_by))(read_state(tmp_path).files), strict=True)
    )
    assert orders == {5: ("?",), 1: ()}


def test_commit_latency_runs_from_the_last_file_to_the_commit(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes(part) for part in BOXES])
    commits = sorted((tmp_path / "_delta_log").glob("*.json"))
    for commit, late in zip(commits, (0.0, 3.0, 5000.0), strict=True):
        actions = map(json.loads, commit.read_text().splitlines())
        at = max(action["add"]["modificationTime"] for action in actions if "add" in action) / 1000 + late
        os.utime(commit, (at, at))
    first, second, copied = (commit.latency_s for commit in read_state(tmp_path).log.commits)
    assert first == pytest.approx(0, abs=0.01)
    assert second == pytest.approx(3, abs=0.01)
    # Hours after it was made: the file was copied, and its time says nothing.
    assert copied is None


def test_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(GeostrataError, match="no Delta table is here"):
        read_state(tmp_path / "nothing")
    write_each(tmp_path, [shapes(BOXES[0])])
    with pytest.raises(GeostrataError, match=r"can't be read at version 7: "):
        read_state(tmp_path, 7)
    (tmp_path / "_delta_log/00000000000000000000.json").write_text("{broken")
    with pytest.raises(GeostrataError, match="its Delta log can't be read"):
        read_state(tmp_path)


def test_a_thousand_files_take_a_moment(tmp_path: Path) -> None:
    corners = np.random.default_rng(1).uniform(0, 1, (1000, 2))
    tables = [shapes([*at, *at], number) for number, at in enumerate(corners)]
    write_many(tmp_path / "many", tables, files_a_commit=50)
    began = time.monotonic()
    state = read_state(tmp_path / "many")
    assert time.monotonic() - began < 1
    assert (len(state.files), state.rows, len(state.log.commits)) == (1000, 1000, 20)


def test_columns_of_nested_types_are_named_with_dots(tmp_path: Path) -> None:
    nested = pa.table({"a": [{"b": {"c": 1}, "d": 2}], "e": [[1]]})
    write_deltalake(tmp_path, nested)
    assert read_state(tmp_path).columns == ("a.b.c", "a.d", "e")
