"""Which layouts can't be, said before anything is written. No Spark; the messages on real tables are in tests/python/lifecycle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dbt.adapters.sedona.table_figures import TableFigures

from geostrata.layout.clashes import of_model

TYPES = {
    "parcel_id": "string",
    "geometry": "binary",
    "bbox.xmin": "double",
    "bbox.ymin": "double",
    "h3": "long",
    "region": "string",
    "height_m": "double",
    "event_date": "date",
    "event_ts": "timestamp",
}
GB = 1 << 30
TABLE = TableFigures(
    version=1,
    files=1,
    bytes=10 * GB,
    sizes=(),
    partition_columns=(),
    partitions=1,
    clustering=(),
    is_liquid=False,
    properties={},
    schema='{"fields": [{"name": "h3", "type": "long"}]}',
)


def said(
    types: dict[str, str] | None = None,
    table: TableFigures | None = None,
    is_rebuilt: bool = False,
    **facts: Any,
) -> list[str]:
    notes: list[str] = []
    found = of_model(
        {"name": "parcels", **facts}, lambda: table, lambda: types or {}, notes.append, is_rebuilt
    )
    return found + [f"note: {note}" for note in notes]


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"layout": {"zorder": ["h3", "bbox.xmin", "PARCEL_ID"]}},
        {"layout": {"cluster_by": ["event_ts"]}},
        {"layout": "none"},
        {"properties": {"delta.appendOnly": True}},
    ],
)
def test_what_can_be(facts: dict[str, Any]) -> None:
    assert said(TYPES, TABLE, **facts) == []
    assert said({}, None, **facts) == []


@pytest.mark.parametrize(
    ("column", "begin"),
    [
        ("h3", "parcels: partition_by names h3, an H3 cell"),
        ("H3_parent", "parcels: partition_by names H3_parent, an H3 cell"),
        ("parcel_id", "parcels: partition_by names parcel_id, a key"),
        ("event_ts", "parcels: partition_by names event_ts, of type timestamp"),
        ("height_m", "parcels: partition_by names height_m, of type double"),
        ("heigth_m", "parcels: partition_by names heigth_m, which is no column of it: it has parcel_id,"),
    ],
)
def test_partitions_of_too_many_values(column: str, begin: str) -> None:
    (line,) = said(TYPES, partition_by=column, keys=["parcel_id"])
    assert line.startswith(begin)


def test_a_few_values_may_make_partitions() -> None:
    for column in ("event_date", "region"):
        (line,) = said(TYPES, partition_by=column)
        assert line == (
            f"note: parcels: partitioned by {column}: from the next run on, its partitions must hold 1.0 GB on average "
            "(layout: {min_partition_size: ...})"
        )


def test_partitions_are_measured_once_there_are_some() -> None:
    large = replace(TABLE, partition_columns=("region",), partitions=10)
    small = replace(large, bytes=GB)
    assert said(TYPES, large, partition_by="region") == []
    (line,) = said(TYPES, small, partition_by="region")
    assert line.startswith(
        "parcels: partition_by region makes 10 partitions of 107.4 MB on average, and under 1.0 GB"
    )
    assert said(TYPES, small, partition_by="region", layout={"min_partition_size": "100mb"}) == []


def test_partitions_change_only_with_a_new_table() -> None:
    large = replace(TABLE, partition_columns=("region",), partitions=10)
    (line,) = said(TYPES, large, layout={"cluster_by": ["h3"]})
    assert line == (
        "parcels: the table is partitioned by region and the model declares none of it: only a new table can change that. "
        "Build once with --full-refresh"
    )
    assert said(TYPES, large, is_rebuilt=True, layout={"cluster_by": ["h3"]}) == []
    (line,) = said(TYPES, TABLE, partition_by="region")
    assert line.startswith("parcels: the table is not partitioned and the model declares partition_by region")


def test_columns_come_from_the_table_where_no_contract_names_them() -> None:
    (line,) = said({}, TABLE, layout={"zorder": ["height_m"]})
    assert line == "parcels: layout.zorder names height_m, which is no column of it: it has h3"


def test_a_clustered_table_takes_no_zorder() -> None:
    (line,) = said(TYPES, replace(TABLE, is_liquid=True), layout={"zorder": ["h3"]})
    assert "Use layout: {cluster_by: [h3]}" in line
    assert said(TYPES, replace(TABLE, is_liquid=True), layout={"cluster_by": ["h3"]}) == []


def test_a_table_is_looked_at_only_for_a_layout_that_speaks_of_columns() -> None:
    def never() -> Any:
        raise AssertionError("nobody should look")

    assert of_model({"name": "parcels", "layout": {"min_files": 4}}, never, never, never) == []
