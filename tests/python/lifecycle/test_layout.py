"""Files laid out by the post-hook as models declare it, and refused where they can't be; on real tables."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake
from lifecycle_bench import LifecycleBench

from geostrata import text_table

# Points at random, in as many files as are asked for; each batch that a run appends has the same number.
POINTS = """
{{{{ config(materialized='incremental', incremental_strategy='append', {config}) }}}}
{{% do adapter.note_change('rows', var('is_new', true)) %}}
select /*+ repartition({files}) */
    cast(id as string) as place_id,
    named_struct('xmin', rand(1), 'ymin', rand(2)) as bbox,
    cast(rand(3) * 1000000 as bigint) as h3,
    cast(id % 5 as int) as district,
    timestamp_seconds(id) as seen_ts,
    id % 2 = 0 as is_even,
    concat('place ', id) as label,
    encode(concat('wkb', id), 'utf-8') as geometry
from range({rows})
"""
NOTHING_NEW = ("--vars", "{is_new: false}")


def points(config: str, rows: int = 30_000, files: int = 4) -> str:
    return POINTS.format(config=config, rows=rows, files=files)


def operations(bench: LifecycleBench, name: str) -> list[str]:
    return [commit["operation"] for commit in bench.commits(name)]


def mean_files_of_a_value(files: list[dict[str, Any]], column: str, top: int) -> float:
    """How many files hold a value, on average over a hundred: what a query for one value must read."""
    values = [top * step // 100 for step in range(100)]
    hits = [
        sum(1 for file in files if file[f"min.{column}"] <= value <= file[f"max.{column}"])
        for value in values
    ]
    return sum(hits) / len(hits)


def test_zorder_at_first_and_again_only_when_enough_has_come(bench: LifecycleBench) -> None:
    model = points("layout={'zorder': ['h3'], 'target_file_size': '64kb'}")
    (line,) = bench.build("ordered", model)
    files = bench.files("ordered")
    assert (
        line
        == f"tried.ordered: 4 files became {len(files)}, in Z-order of h3: 100% of its {size(bench, 'ordered', 0)} lay in no order"
    )
    assert len(files) > 10
    assert max(file["size_bytes"] for file in files) < 2 * 65536
    assert mean_files_of_a_value(files, "h3", 1_000_000) < 1.5
    assert operations(bench, "ordered") == ["CREATE OR REPLACE TABLE AS SELECT", "OPTIMIZE"]

    # Nothing to do: no commit, no word.
    assert bench.build("ordered", model, *NOTHING_NEW) == []
    assert bench.log("ordered").version() == 1

    # A little more is let be, also if it is said again and again.
    assert (
        bench.build("ordered", points("layout={'zorder': ['h3'], 'target_file_size': '64kb'}", 3_000, 1))
        == []
    )
    assert operations(bench, "ordered")[2:] == ["WRITE"]

    # As much again is not.
    (line,) = bench.build("ordered", model)
    assert "in Z-order of h3: 5" in line
    assert mean_files_of_a_value(bench.files("ordered"), "h3", 1_000_000) < 1.5
    assert bench.log("ordered").to_pyarrow_table().num_rows == 63_000

    # Another order is a reason by itself, with nothing new.
    (line,) = bench.build(
        "ordered", points("layout={'zorder': ['seen_ts'], 'target_file_size': '64kb'}"), *NOTHING_NEW
    )
    assert "in Z-order of seen_ts: its files lay in the order of h3" in line


def size(bench: LifecycleBench, name: str, version: int) -> str:
    files = pa.table(DeltaTable(bench.path(name), version=version).get_add_actions(flatten=True))
    return text_table.size(sum(files["size_bytes"].to_pylist()))


def test_small_files_are_gathered(bench: LifecycleBench) -> None:
    model = points("layout={'min_files': 8}", rows=100, files=12)
    (line,) = bench.build("small", model)
    assert line == "tried.small: 12 files became 1: 12 of its 12 files were smaller than 2.1 MB"
    rows = bench.log("small").to_pyarrow_table()
    assert sorted(map(int, rows["place_id"].to_pylist())) == list(range(100))
    # Fewer than min_files are let be.
    assert bench.build("small", points("layout={'min_files': 8}", rows=100, files=6)) == []
    assert len(bench.files("small")) == 7
    # So are all of them where the model wants nothing done.
    assert bench.build("left", points("layout='none'", rows=100, files=12)) == []
    assert len(bench.files("left")) == 12


def test_a_clustered_table_from_its_creation_on(bench: LifecycleBench) -> None:
    layout = "layout={{'cluster_by': {columns}, 'target_file_size': '64kb'}}"
    near = points(layout.format(columns=["bbox.xmin", "bbox.ymin"]))
    (line,) = bench.build("clustered", near)
    assert "clustered by bbox.xmin, bbox.ymin: 100% of its" in line
    files = bench.files("clustered")
    assert len(files) > 10
    # Both sides are ordered: a value of either is in few files.
    for side in ("bbox.xmin", "bbox.ymin"):
        assert mean_files_of_a_value(files, side, 1) < 0.6 * len(files)
    assert bench.build("clustered", near, *NOTHING_NEW) == []
    assert operations(bench, "clustered") == ["CREATE OR REPLACE TABLE AS SELECT", "OPTIMIZE"]
    assert bench.commits("clustered")[0]["operationParameters"]["clusterBy"] == '["bbox.xmin","bbox.ymin"]'

    # Other columns: told to Delta, and all files written anew.
    (line,) = bench.build("clustered", points(layout.format(columns=["h3"])), *NOTHING_NEW)
    assert "clustered by h3: its files lay in the order of bbox.xmin, bbox.ymin" in line
    assert operations(bench, "clustered")[2:] == ["CLUSTER BY", "OPTIMIZE"]
    assert mean_files_of_a_value(bench.files("clustered"), "h3", 1_000_000) < 1.5

    # A text column needs statistics first, and gives them back afterwards.
    bench.build("clustered", points(layout.format(columns=["label"])), *NOTHING_NEW)
    assert "label" in bench.properties("clustered")["delta.dataSkippingStatsColumns"]
    bench.build("clustered", points(layout.format(columns=["seen_ts"])), *NOTHING_NEW)
    assert "label" not in bench.properties("clustered")["delta.dataSkippingStatsColumns"]

    # Not clustered any more; but a Z-order is out of the question from now on.
    assert bench.build("clustered", points("layout={'min_files': 99}"), *NOTHING_NEW) == []
    assert operations(bench, "clustered")[-1] == "CLUSTER BY"
    assert "Delta never allows ZORDER there again" in bench.refusal(
        {"clustered": points("layout={'zorder': ['h3']}")}
    )


def test_nothing_to_do_is_found_in_milliseconds_without_a_job(bench: LifecycleBench) -> None:
    from dbt.adapters.sedona import python_macros

    bench.build("quiet", points("layout={'zorder': ['h3'], 'target_file_size': '64kb'}"))
    spark = bench.spark()
    facts = {"name": "quiet", "layout": {"zorder": ["h3"], "target_file_size": "64kb"}}
    jobs = spark._jsc.sc().statusStore().jobsList(None).size()
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        plan = python_macros.call(spark, "plan_upkeep", {"facts": facts, "table": "tried.quiet"})
        seconds.append(time.perf_counter() - start)
        assert plan["work"] is None
    assert spark._jsc.sc().statusStore().jobsList(None).size() == jobs
    print(f"median of 20: {sorted(seconds)[10] * 1000:.1f} ms")
    # Milliseconds when the machine is quiet; ten times as long is still no wait.
    assert sorted(seconds)[10] < 0.25


def test_a_table_that_another_engine_wrote_to_is_judged_as_well(bench: LifecycleBench) -> None:
    bench.build("shared", points("layout={'min_files': 8}", rows=100, files=4))
    rows = bench.log("shared").to_pyarrow_table()
    for _ in range(8):
        write_deltalake(bench.path("shared"), rows.slice(0, 10), mode="append")
    (line,) = bench.build("shared", points("layout={'min_files': 8}"), *NOTHING_NEW)
    assert "12 files became 1: 12 of its 12 files were smaller" in line
    assert bench.log("shared").to_pyarrow_table().num_rows == 180


CLASHES = {
    "both": (
        "layout={'zorder': ['h3'], 'cluster_by': ['seen_ts']}",
        "both: layout has zorder (h3) and cluster_by (seen_ts): Delta keeps a table in one order only. Leave one of them out",
    ),
    "misspelt_key": (
        "layout={'zorderby': ['h3']}",
        "misspelt_key: layout has no zorderby: did you mean zorder?",
    ),
    "partitioned_and_clustered": (
        "partition_by='district', layout={'cluster_by': ['h3']}",
        "partitioned_and_clustered: layout.cluster_by and partition_by (district) exclude each other in Delta",
    ),
    "by_cell": (
        "partition_by='h3'",
        "by_cell: partition_by names h3, an H3 cell: as many folders as values.",
    ),
    "by_key": (
        "partition_by='place_id', unique_key='place_id'",
        "by_key: partition_by names place_id, a key: as many folders as values.",
    ),
    "by_time": (
        "partition_by=['seen_ts']",
        "by_time: partition_by names seen_ts, a time: as many folders as values.",
    ),
    "by_partition": (
        "partition_by='district', layout={'zorder': ['district']}",
        "by_partition: layout.zorder names district, by which the table is partitioned already",
    ),
    "without_statistics": (
        "layout={'zorder': ['h3']}, tblproperties={'delta.dataSkippingStatsColumns': 'seen_ts'}",
        "without_statistics: layout.zorder names h3, for which delta.dataSkippingStatsColumns = seen_ts keeps no statistics",
    ),
    "of_five": (
        "layout={'cluster_by': ['a', 'b', 'c', 'd', 'e']}",
        "of_five: layout.cluster_by names 5 columns (a, b, c, d, e): Delta takes at most 4",
    ),
    "no_size": (
        "layout={'target_file_size': 'large'}",
        "no_size: layout.target_file_size: 'large' is no size: write it as 64mb, 1gb or a number of bytes",
    ),
}


def test_each_clash_stops_the_run_before_anything_is_written(bench: LifecycleBench) -> None:
    models = {name: points(config) for name, (config, _) in CLASHES.items()}
    said = bench.refusal({**models, "sound": points("layout={'zorder': ['h3']}")})
    assert [expected for _, expected in CLASHES.values() if expected not in said] == []
    assert "sound" not in said
    assert [name for name in (*models, "sound") if bench.path(name).exists()] == []


KNOWN_COLUMNS = {
    "geometry": "layout.zorder names geometry, a binary column (WKB has no order): use bbox.xmin and bbox.ymin, or h3",
    "is_even": "layout.zorder names is_even, of type boolean, for which Delta keeps no statistics",
    "bbox": "layout.zorder names bbox, a struct: name its fields, such as bbox.xmin, bbox.ymin",
    "height": "layout.zorder names height, which is no column of it: it has place_id, bbox.xmin",
}


@pytest.mark.parametrize("column", KNOWN_COLUMNS)
def test_columns_of_a_table_that_is_there_are_known(bench: LifecycleBench, column: str) -> None:
    if not bench.path("there").exists():
        bench.build("there", points("", rows=10))
    said = bench.refusal({"there": points(f"layout={{'zorder': ['{column}']}}", rows=10)})
    assert f"there: {KNOWN_COLUMNS[column]}" in said


def test_columns_of_a_contract_are_known_before_there_is_a_table(bench: LifecycleBench) -> None:
    columns = [
        {"name": "h3", "data_type": "bigint"},
        {"name": "geometry", "data_type": "binary"},
        {"name": "bbox", "data_type": "struct<xmin: double, ymin: double>"},
    ]
    described = {"name": "promised", "config": {"contract": {"enforced": True}}, "columns": columns}
    file = bench.project / "models" / "_promised.yml"
    file.write_text(yaml.safe_dump({"version": 2, "models": [described]}))
    promised = (
        "select 1L as h3, encode('a', 'utf-8') as geometry, named_struct('xmin', 1d, 'ymin', 2d) as bbox"
    )
    config = "{{{{ config(layout={{'zorder': ['{column}']}}) }}}} "
    try:
        said = bench.refusal({"promised": config.format(column="geometry") + promised})
        assert "promised: layout.zorder names geometry, a binary column" in said
        said = bench.refusal({"promised": config.format(column="bbox.zmin") + promised})
        assert "which is no column of it: it has h3, geometry, bbox.xmin, bbox.ymin" in said
        assert not bench.path("promised").exists()
        # Of a model that is not asked for nothing is said.
        bench.write({"promised": config.format(column="geometry") + promised})
        bench.build("another", points("", rows=10))
        bench.build("promised", config.format(column="bbox.xmin") + promised)
        kept = bench.properties("promised")["delta.dataSkippingStatsColumns"]
        assert kept == "h3,bbox.xmin,bbox.ymin"
    finally:
        file.unlink()
        bench.forget(["promised"])


def test_partitions_must_be_worth_their_files(bench: LifecycleBench) -> None:
    bench.write({"parted": points("partition_by='district'", rows=100)})
    outcome, lines = bench.dbt("run", "--select", "parted")
    assert outcome.success
    assert any(
        line.startswith(
            "parted: partitioned by district: from the next run on, its partitions must hold 1.0 GB"
        )
        for line in lines
    )
    said = bench.refusal({"parted": points("partition_by='district'", rows=100)})
    assert "parted: partition_by district makes 5 partitions of" in said
    assert "use layout: {zorder: [district]}, then build with --full-refresh" in said
    # A table that is to grow says so.
    bench.build("parted", points("partition_by='district', layout={'min_partition_size': '1kb'}", rows=100))


def test_of_partitions_only_those_that_need_it_are_written_anew(bench: LifecycleBench) -> None:
    config = "partition_by='district', layout={'min_partition_size': '1kb', 'zorder': ['h3'], 'target_file_size': '32kb'}"
    bench.build("parts", points(config))
    before = {file["path"] for file in bench.files("parts")}
    # All of it was in no order, and is now.
    assert bench.commits("parts")[-1]["operation"] == "OPTIMIZE"
    more = points(config).replace("id % 5", "1 + id % 2")
    (line,) = bench.build("parts", more)
    assert "in Z-order of h3: 2 of its 5 partitions lay in no order" in line
    kept = {file["path"] for file in bench.files("parts")} & before
    assert {path.split("/")[0] for path in kept} == {f"district={number}" for number in (0, 3, 4)}
    assert bench.build("parts", more, *NOTHING_NEW) == []


def test_the_guide_says_how_to_ask_for_all_models(bench: LifecycleBench) -> None:
    bench.write({"wrong": points("layout={'zorderby': ['h3']}")})
    try:
        outcome, lines = bench.dbt("run-operation", "check_layouts")
    finally:
        bench.forget(["wrong"])
    assert not outcome.success
    assert any("wrong: layout has no zorderby" in line for line in [*lines, str(outcome.exception)])
