"""Table properties as code: declared by folder and model, reconciled by the post-hook, on real tables."""

from __future__ import annotations

import json

import pytest
from lifecycle_bench import LifecycleBench

from geostrata.layout import delta_names, properties

# A table that is written once: later runs find nothing new, and only reconcile.
ROWS = """
{{% do adapter.note_change('rows', false) %}}
{{{{ config(materialized='incremental', {config}) }}}}
select
    cast(id as string) as place_id,
    repeat('words ', 50) as notes,
    cast(id * 1.5 as double) as height_m,
    named_struct('xmin', id / 10, 'ymin', id / 10, 'xmax', id / 10, 'ymax', id / 10) as bbox,
    id as h3,
    timestamp_seconds(id) as seen_ts,
    encode('wkb', 'utf-8') as geometry
from range(10)
"""


def rows(**tblproperties: object) -> str:
    return ROWS.format(config=f"unique_key='place_id', tblproperties={tblproperties!r}")


def declared(bench: LifecycleBench, name: str) -> dict[str, str]:
    """Without what the hook adds by itself."""
    derived = (properties.REMEMBERED, "delta.dataSkippingStatsColumns")
    return {key: value for key, value in bench.properties(name).items() if key not in derived}


def operations(bench: LifecycleBench, name: str) -> list[str]:
    return [commit["operation"] for commit in bench.commits(name)]


def test_a_property_is_set_changed_and_unset(bench: LifecycleBench) -> None:
    bench.build("kept", rows(**{"delta.checkpointInterval": 20, "catalog.table.classification": "public"}))
    layer = {"catalog.team_name": "town", "delta.logRetentionDuration": "interval 30 days"}
    first = {**layer, "delta.checkpointInterval": "20", "catalog.table.classification": "public"}
    assert declared(bench, "kept") == first
    # All of it in the commit that made the table.
    assert operations(bench, "kept") == ["CREATE OR REPLACE TABLE AS SELECT"]

    # Nothing differs: no commit.
    bench.build("kept", rows(**{"delta.checkpointInterval": "20", "catalog.table.classification": "public"}))
    assert bench.log("kept").version() == 0

    # Changed, in one commit together with the note of what is ours.
    lines = bench.build(
        "kept", rows(**{"delta.checkpointInterval": 50, "catalog.table.classification": "public"})
    )
    assert declared(bench, "kept") == {**first, "delta.checkpointInterval": "50"}
    assert operations(bench, "kept")[1:] == ["SET TBLPROPERTIES"]
    assert lines == []

    # No longer declared: unset. A property of the folder that the model sets to null goes as well.
    bench.build("kept", rows(**{"catalog.table.classification": "public", "catalog.team_name": None}))
    assert declared(bench, "kept") == {
        "delta.logRetentionDuration": "interval 30 days",
        "catalog.table.classification": "public",
    }
    assert operations(bench, "kept")[2:] == ["UNSET TBLPROPERTIES", "SET TBLPROPERTIES"]
    bench.build("kept", rows(**{"catalog.table.classification": "public", "catalog.team_name": None}))
    assert bench.log("kept").version() == 3


def test_what_another_hand_did_is_mended_and_told(bench: LifecycleBench) -> None:
    model = rows(**{"delta.checkpointInterval": 20, "catalog.table.classification": "public"})
    bench.build("drifting", model)
    before = bench.properties("drifting")
    spark = bench.spark()
    spark.sql(
        "alter table tried.drifting set tblproperties ('delta.checkpointInterval' = '3', 'somebody.else' = 'was here')"
    )
    spark.sql("alter table tried.drifting unset tblproperties ('catalog.table.classification')")
    lines = bench.build("drifting", model)
    # What others set is theirs.
    assert bench.properties("drifting") == {**before, "somebody.else": "was here"}
    assert lines == [
        "tried.drifting: catalog.table.classification was gone by another hand, set back to public; "
        "delta.checkpointInterval was 3 by another hand, set back to 20"
    ]
    assert bench.build("drifting", model) == []
    assert operations(bench, "drifting")[-1] == "SET TBLPROPERTIES"
    assert bench.log("drifting").version() == 3


def test_statistics_are_kept_for_what_queries_prune_by(bench: LifecycleBench) -> None:
    bench.build("measured", rows())
    wanted = "place_id,height_m,bbox.xmin,bbox.ymin,bbox.xmax,bbox.ymax,h3,seen_ts"
    assert bench.properties("measured")["delta.dataSkippingStatsColumns"] == wanted
    (file,) = (bench.path("measured") / "_delta_log").glob("*.json")
    adds = [json.loads(line)["add"] for line in file.read_text().splitlines() if '"add"' in line[:10]]
    for add in adds:
        kept = json.loads(add["stats"])["minValues"]
        assert set(kept) == {"place_id", "height_m", "bbox", "h3", "seen_ts"}
        assert set(kept["bbox"]) == {"xmin", "ymin", "xmax", "ymax"}
    # A project that says it itself is taken at its word.
    bench.build("measured", rows(**{"delta.dataSkippingStatsColumns": "h3"}))
    assert bench.properties("measured")["delta.dataSkippingStatsColumns"] == "h3"


def test_a_full_refresh_has_the_properties_from_its_first_commit(bench: LifecycleBench) -> None:
    model = rows(**{"delta.appendOnly": True})
    bench.build("refreshed", model)
    before = bench.properties("refreshed")
    assert before["delta.appendOnly"] == "true"
    bench.build("refreshed", model, "--full-refresh")
    assert bench.properties("refreshed") == before
    assert operations(bench, "refreshed")[-1] == "CREATE OR REPLACE TABLE AS SELECT"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "delta.logRetention",
            "Delta has no table property delta.logRetention: did you mean delta.logRetentionDuration?",
        ),
        ("delta.appendonly", "Delta has no table property delta.appendonly: did you mean delta.appendOnly?"),
        ("delta.targetFileSize", "open-source Delta has no table property delta.targetFileSize: use layout:"),
    ],
)
def test_a_misspelt_name_is_refused_before_anything_is_written(
    bench: LifecycleBench, name: str, said: str
) -> None:
    assert f"misspelt: {said}" in bench.refusal({"misspelt": rows(**{name: "x"})})
    assert not bench.path("misspelt").exists()


def test_the_names_are_those_of_the_delta_that_runs(bench: LifecycleBench) -> None:
    bench.build("measured", rows())
    configs = getattr(getattr(bench.spark()._jvm.org.apache.spark.sql.delta, "DeltaConfigs$"), "MODULE$")
    methods = configs.getClass().getMethods()
    known = {
        method.invoke(configs, None).key()
        for method in methods
        if method.getParameterCount() == 0 and method.getReturnType().getSimpleName() == "DeltaConfig"
    }
    assert set(delta_names.KNOWN) == known
