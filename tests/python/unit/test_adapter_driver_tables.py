"""Parts of Delta tables that are read and replaced without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from dbt.adapters.sedona import driver_tables
from dbt.adapters.sedona.driver_tables import DriverTable
from delta_tables import shapes
from deltalake import DeltaTable, write_deltalake


def opened(path: Path) -> DriverTable:
    table = DriverTable.at(str(path))
    assert table is not None
    return table


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    corners = np.random.default_rng(5).uniform(0, 1, (300, 2))
    write_deltalake(tmp_path / "boxes", shapes(np.hstack([corners, corners + 0.01]), note=["ä"] * 300))
    return tmp_path / "boxes"


def test_rows_that_meet_a_condition(boxes: Path) -> None:
    found = opened(boxes).rows(
        ["shape_id", "bbox", "note"], "(shape_id between 10 and 200 and bbox.xmin <= 0.5)"
    )
    assert found is not None
    every = DeltaTable(boxes).to_pyarrow_table().to_pylist()
    wanted = [row for row in every if 10 <= row["shape_id"] <= 200 and row["bbox"]["xmin"] <= 0.5]
    assert sorted(found.to_pylist(), key=lambda row: row["shape_id"]) == [
        {name: row[name] for name in ("shape_id", "bbox", "note")} for row in wanted
    ]
    # As Spark has them, not Arrow's newer types for text.
    assert found.schema.field("note").type == pa.string()


def test_more_than_the_driver_should_hold_is_left_to_spark(
    boxes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opened(boxes).rows(["geometry"], "shape_id >= 0") is not None
    monkeypatch.setattr(driver_tables, "MOST_BYTES", 1_000)
    assert opened(boxes).rows(["geometry"], "shape_id >= 0") is None
    assert opened(boxes).rows(["geometry"], "shape_id < 3") is not None


def test_what_can_not_be_read_is_left_to_spark(boxes: Path, tmp_path: Path) -> None:
    assert DriverTable.at(str(tmp_path / "nothing")) is None
    assert opened(boxes).rows(["geometry"], "shape_id > ") is None
    # There is no change feed.
    assert opened(boxes).changes("shape_id", 0, 0) is None
    for file in boxes.glob("*.parquet"):
        file.unlink()
    assert opened(boxes).rows(["geometry"], "shape_id >= 0") is None


def test_tables_with_hidden_rows_or_renamed_columns_are_left_to_spark(boxes: Path) -> None:
    commit = boxes / "_delta_log/00000000000000000000.json"
    newer = commit.read_text().replace('"minReaderVersion":1', '"minReaderVersion":2')
    assert newer != commit.read_text()
    commit.write_text(newer)
    assert DriverTable.at(str(boxes)) is None


def test_changes_are_rows_added_changed_and_removed(tmp_path: Path) -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(tmp_path, pa.table({"h3": [1, 2, 3]}), configuration=feed)
    write_deltalake(tmp_path, pa.table({"h3": [4]}), mode="append")
    DeltaTable(tmp_path).update(predicate="h3 = 2", updates={"h3": "20"})
    DeltaTable(tmp_path).delete("h3 = 3")
    DeltaTable(tmp_path).optimize.compact()

    def changed(first: int, last: int) -> list[int]:
        found = opened(tmp_path).changes("h3", first, last)
        assert found is not None
        return sorted(found["h3"].to_pylist())

    assert changed(1, 1) == [4]
    assert changed(2, 2) == [2, 20]
    assert changed(3, 3) == [3]
    assert changed(4, 4) == []
    assert changed(1, 4) == [2, 3, 4, 20]


@pytest.mark.parametrize(
    ("options", "is_allowed"),
    [
        ({}, True),
        ({"configuration": {"delta.checkpointInterval": "20"}}, True),
        ({"configuration": {"delta.enableChangeDataFeed": "true"}}, False),
        ({"configuration": {"delta.appendOnly": "true"}}, False),
        ({"partition_by": ["shape_id"]}, False),
    ],
)
def test_tables_with_more_to_keep_than_rows_are_left_to_spark(
    tmp_path: Path, options: dict[str, Any], is_allowed: bool
) -> None:
    write_deltalake(tmp_path, shapes([(0, 0, 1, 1)]), **options)
    assert opened(tmp_path).may_be_replaced is is_allowed


@pytest.mark.parametrize(("key", "is_allowed"), [("comment", True), ("__CHAR_VARCHAR_TYPE_STRING", False)])
def test_columns_with_rules_of_spark_are_left_to_spark(tmp_path: Path, key: str, is_allowed: bool) -> None:
    field = pa.field("name", pa.string(), metadata={key: "varchar(3)"})
    write_deltalake(tmp_path, pa.table({"name": ["abc"]}, pa.schema([field])))
    assert opened(tmp_path).may_be_replaced is is_allowed
