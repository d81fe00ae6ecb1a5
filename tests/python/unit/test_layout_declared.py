"""What a model may say of its layout, and which columns get statistics. No Spark."""

from __future__ import annotations

from typing import Any

import pytest

from geostrata.errors import GeostrataError
from geostrata.layout import delta_names, statistics
from geostrata.layout.columns import leaves
from geostrata.layout.declared import Layout, Model, parse_layout

COLUMNS = {
    "parcel_id": "string",
    "land_use": "string",
    "assessed_value": "decimal(12,2)",
    "is_deleted": "boolean",
    "geometry": "binary",
    "bbox.xmin": "double",
    "bbox.ymin": "double",
    "h3": "long",
    "event_date": "date",
    "updated_at": "timestamp",
    "reasons": "array",
}


def test_a_model_without_a_layout_has_the_defaults() -> None:
    assert parse_layout("parcels", None) == Layout() == parse_layout("parcels", {})
    assert Layout().is_kept


def test_none_leaves_files_alone() -> None:
    assert not parse_layout("parcels", "none").is_kept


def test_everything_that_can_be_said() -> None:
    given = {
        "zorder": "h3",
        "target_file_size": "64mb",
        "min_files": 4,
        "small_file_share": 1,
        "unclustered_share": 0.1,
        "min_partition_size": "10 MB",
    }
    assert parse_layout("parcels", given) == Layout(
        zorder=("h3",),
        target_file_size=64 << 20,
        min_files=4,
        small_file_share=1.0,
        unclustered_share=0.1,
        min_partition_size=10 << 20,
    )
    assert parse_layout("parcels", {"target_file_size": "auto"}).target_file_size is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("zorder", "parcels: layout must be none or a mapping such as {zorder: [h3]}, got 'zorder'"),
        (["h3"], "parcels: layout must be none or a mapping such as {zorder: [h3]}, got ['h3']"),
        ({"clusterby": ["h3"]}, "parcels: layout has no clusterby: did you mean cluster_by?"),
        (
            {"is_kept": False},
            "parcels: layout has no is_kept: it knows zorder, cluster_by, target_file_size, min_files, small_file_share, "
            "unclustered_share, min_partition_size",
        ),
        ({"min_files": 0}, "parcels: layout.min_files must be a whole number from 1, got 0"),
        ({"min_files": "8"}, "parcels: layout.min_files must be a whole number from 1, got '8'"),
        (
            {"small_file_share": 1.5},
            "parcels: layout.small_file_share must be above 0 and at most 1, got 1.5",
        ),
        (
            {"unclustered_share": True},
            "parcels: layout.unclustered_share must be above 0 and at most 1, got True",
        ),
    ],
)
def test_what_can_not_be_said(given: Any, said: str) -> None:
    with pytest.raises(GeostrataError) as refused:
        parse_layout("parcels", given)
    assert str(refused.value) == said


def test_properties_are_text_and_null_takes_one_away() -> None:
    model = Model.of("parcels", properties={"delta.appendOnly": True, "a": 1, "catalog.team_name": None})
    assert model.properties == {"delta.appendOnly": "true", "a": "1"}


def test_statistics_are_for_numbers_times_keys_and_the_order() -> None:
    model = Model.of("parcels", layout={"zorder": ["land_use"]}, partition_by="event_date")
    assert statistics.wanted(model, COLUMNS) == (
        "parcel_id,land_use,assessed_value,bbox.xmin,bbox.ymin,h3,updated_at"
    )
    assert statistics.wanted(Model.of("parcels", keys=["Land_Use"]), {"land_use": "string"}) == "land_use"
    assert statistics.wanted(Model.of("parcels"), {"land_use": "string", "geometry": "binary"}) == ""


def test_columns_of_structs_are_named_by_their_path() -> None:
    bbox = {"type": "struct", "fields": [{"name": "xmin", "type": "double"}]}
    schema = {
        "fields": [
            {"name": "bbox", "type": bbox},
            {"name": "a b", "type": "string"},
            {"name": "list", "type": {"type": "array", "elementType": bbox}},
        ]
    }
    assert leaves(schema) == {"bbox.xmin": "double", "`a b`": "string", "list": "array"}


@pytest.mark.parametrize(
    ("properties", "lacking"),
    [
        ({}, []),
        ({"delta.dataSkippingStatsColumns": "h3, bbox"}, []),
        ({"delta.dataSkippingStatsColumns": "h3,bbox.ymin"}, ["bbox.xmin"]),
        ({"delta.dataSkippingNumIndexedCols": 8}, []),
        ({"delta.dataSkippingNumIndexedCols": 7}, ["h3"]),
        ({"delta.dataSkippingNumIndexedCols": -1}, []),
    ],
)
def test_declared_statistics_may_lack_what_the_order_needs(
    properties: dict[str, Any], lacking: list[str]
) -> None:
    model = Model.of("parcels", layout={"zorder": ["h3", "bbox.xmin"]}, properties=properties)
    assert statistics.lacking(model, COLUMNS) == lacking


@pytest.mark.parametrize("name", ["delta.appendOnly", "delta.feature.clustering", "geostrata.geo", "owner"])
def test_names_that_are_right(name: str) -> None:
    delta_names.check("parcels", [name])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("delta.checkpoint.interval", "did you mean delta.checkpointInterval?"),
        ("delta.AppendOnly", "did you mean delta.appendOnly?"),
        ("Delta.enableChangeDatafeed", "did you mean delta.enableChangeDataFeed?"),
        ("delta.deletedFileRetention", "did you mean delta.deletedFileRetentionDuration?"),
        ("delta.constraints.positive", "write a check constraint in the model's contract"),
        ("delta.targetFileSize", "use layout: {target_file_size: ...}"),
    ],
)
def test_names_that_are_not(name: str, said: str) -> None:
    with pytest.raises(GeostrataError) as refused:
        delta_names.check("parcels", [name])
    assert str(refused.value).startswith("parcels: ")
    assert name in str(refused.value)
    assert str(refused.value).endswith(said)
