"""The guide to layout is true: its models are built and its commands run, as they stand there."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields

import yaml
from lifecycle_bench import LifecycleBench
from workbench import ROOT

from geostrata.layout.declared import Layout

GUIDE = (ROOT / "docs/layout.md").read_text()
TELEMETRY = """
{{ config(materialized='incremental', tblproperties={'delta.enableChangeDataFeed': 'true'}) }}
select
    cast(id as string) as event_id,
    cast(id % 7 as string) as device_id,
    encode('wkb', 'utf-8') as geometry,
    named_struct('xmin', rand(1), 'ymin', rand(2), 'xmax', rand(1), 'ymax', rand(2)) as bbox,
    id as h3,
    timestamp_seconds(id) as event_ts
from range(1000)
"""


def test_its_models_are_built_and_its_commands_run(bench: LifecycleBench) -> None:
    models = dict(re.findall(r"```sql models/gold/(\w+)\.sql\n(.*?)```", GUIDE, re.DOTALL))
    assert sorted(models) == ["open_positions", "positions"]
    commands = [
        line for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines()
    ]
    assert len(commands) == 3
    try:
        bench.build("telemetry", TELEMETRY)
        bench.write(models)
        for command in commands:
            program, *arguments = shlex.split(command)
            assert program == "dbt"
            outcome, _ = bench.dbt(*arguments)
            assert outcome.success, command
        kept = bench.properties("open_positions")
        # Beside the folder's.
        assert (kept["catalog.team_name"], kept["delta.checkpointInterval"]) == ("town", "50")
        assert bench.log("positions").to_pyarrow_table().num_rows == 1000

        bench.spark().sql(
            "alter table tried.open_positions set tblproperties ('delta.checkpointInterval' = '3')"
        )
        _, lines = bench.dbt("run", "--select", "open_positions")
        assert [line.replace("tried.", "gold.") for line in lines if " by another hand" in line] == [
            re.findall(r"^gold\.open_positions: .*", GUIDE, re.MULTILINE)[0]
        ]
    finally:
        bench.forget([*models, "telemetry"])


def test_its_tables_are_those_of_the_code_and_the_project() -> None:
    keys = dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) ?\| ", GUIDE, re.MULTILINE))
    declared = {key.name: key.default for key in fields(Layout) if key.name != "is_kept"}
    assert keys.keys() == declared.keys()
    for name in ("min_files", "small_file_share", "unclustered_share"):
        assert keys[name] == str(declared[name])
    models = yaml.safe_load((ROOT / "dbt_project.yml").read_text())["models"]
    layers = ("bronze", "silver", "gold")
    rows = re.findall(r"^\| `(delta\.\w+)` \|(.*?)\|(.*?)\|(.*?)\|", GUIDE, re.MULTILINE)
    assert len(rows) == 5
    for name, *told in rows:
        kept = [
            {**models["+tblproperties"], **models["geostrata"][layer]["+tblproperties"]}.get(name, "")
            for layer in layers
        ]
        assert [value.replace("interval ", "") for value in kept] == [value.strip() for value in told], name
