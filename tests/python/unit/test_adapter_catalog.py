"""The docs catalog, read from what Spark says of a table. The rows were taken from a session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.sedona import catalog
from dbt_common.exceptions import DbtRuntimeError

DELTA = [
    ("id", "bigint", "the key"),
    ("bbox", "struct<xmin:double,ymin:double>", None),
    ("day", "string", ""),
    ("# Partition Information", "", ""),
    ("# col_name", "data_type", "comment"),
    ("day", "string", None),
    ("", "", ""),
    ("# Detailed Table Information", "", ""),
    ("Name", "spark_catalog.town.t", ""),
    ("Type", "MANAGED", ""),
    ("Comment", "a table", ""),
    ("Provider", "delta", ""),
    ("Owner", "ada", ""),
]
VIEW = [("id", "bigint", None), ("", "", ""), ("# Detailed Table Information", "", ""), ("Type", "VIEW", "")]


class FakeAdapter:
    def __init__(self, described: list[Any]) -> None:
        self.described = described
        self.statements: list[str] = []

    def execute(self, sql: str, fetch: bool) -> Any:
        self.statements.append(sql)
        if sql.startswith("describe table"):
            return None, SimpleNamespace(rows=self.described)
        return None, SimpleNamespace(rows=[(50,)])

    def delta_bytes(self, relation: Any) -> int:
        return 3287


class Relation:
    schema, identifier, type = "town", "t", "table"

    def __str__(self) -> str:
        return "town.t"


def test_a_delta_table() -> None:
    adapter = FakeAdapter(DELTA)
    rows = catalog.rows_of(adapter, Relation())
    assert [(row["column_name"], row["column_type"], row["column_comment"]) for row in rows] == [
        ("id", "bigint", "the key"),
        ("bbox", "struct<xmin:double,ymin:double>", None),
        ("day", "string", None),
    ]
    assert [row["column_index"] for row in rows] == [0, 1, 2]
    assert {(row["table_owner"], row["table_comment"], row["table_type"]) for row in rows} == {
        ("ada", "a table", "table")
    }
    assert rows[0]["stats:rows:value"] == 50
    assert rows[0]["stats:bytes:value"] == 3287
    assert rows[0]["stats:bytes:include"] is True
    assert len(adapter.statements) == 2


def test_a_view_is_not_counted() -> None:
    adapter = FakeAdapter(VIEW)
    (row,) = catalog.rows_of(adapter, Relation())
    assert not [name for name in row if name.startswith("stats:")]
    assert adapter.statements == ["describe table extended town.t"]


def test_what_cannot_be_read_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(FakeAdapter):
        def execute(self, sql: str, fetch: bool) -> Any:
            raise DbtRuntimeError("[TABLE_OR_VIEW_NOT_FOUND] gone")

    told: list[str] = []
    monkeypatch.setattr(catalog.logger, "warning", told.append)
    assert catalog.rows_of(Broken([]), Relation()) == []
    assert told == ["town.t is left out of the docs: [TABLE_OR_VIEW_NOT_FOUND] gone"]
