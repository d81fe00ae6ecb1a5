"""`dbt docs generate`: what the docs page shows of tables, views and external sources."""

from __future__ import annotations

import json
from typing import Any


def test_the_catalog(dbt: Any) -> None:
    landing = dbt.root / "landing"
    landing.mkdir()
    (landing / "a.json").write_text('{"a": 1, "s": {"b": "x"}}\n')
    dbt.write(
        "models/t.sql",
        """
        {{ config(persist_docs={'relation': true, 'columns': true}) }}
        select id, named_struct('xmin', 1D, 'y_min', 2D) as bbox, array(named_struct('tag', 'a')) as tags,
            cast(1 as decimal(10, 2)) as area_m2, '2024' as day
        from range(7)
        """,
    )
    dbt.write("models/v.sql", "{{ config(materialized='view') }} select bbox from {{ ref('t') }}")
    dbt.write(
        "models/docs.yml",
        f"""
        models:
          - name: t
            description: One row a thing, it's said.
            columns:
              - {{name: bbox, description: Its box}}
              - {{name: day, description: "2024"}}
        sources:
          - name: landing
            schema: {dbt.schema}
            tables: [{{name: files}}]
        """,
    )
    dbt.run("run")
    dbt.sql(
        "create table {schema}.files (a bigint comment 'first', s struct<b:string>) using json location '"
        + f"{landing}'"
    )
    # In the schema, but none of the project's.
    dbt.sql("create table {schema}.other using delta as select 1 as id")
    dbt.run("docs", "generate")
    catalog = json.loads((dbt.root / "target" / "catalog.json").read_text())
    assert catalog["errors"] is None

    table = catalog["nodes"]["model.town.t"]
    assert {name: column["type"] for name, column in table["columns"].items()} == {
        "id": "bigint",
        "bbox": "struct<xmin:double,y_min:double>",
        "tags": "array<struct<tag:string>>",
        "area_m2": "decimal(10,2)",
        "day": "string",
    }
    assert [column["index"] for column in table["columns"].values()] == [0, 1, 2, 3, 4]
    assert table["columns"]["bbox"]["comment"] == "Its box"
    assert table["columns"]["day"]["comment"] == "2024"
    assert table["columns"]["id"]["comment"] is None
    assert table["metadata"]["comment"] == "One row a thing, it's said."
    assert table["metadata"]["type"] == "table"
    assert table["metadata"]["owner"]
    assert table["stats"]["rows"]["value"] == 7
    (size,) = dbt.sql("describe detail {schema}.t")
    assert table["stats"]["bytes"]["value"] in size
    assert table["stats"]["bytes"]["include"] is True

    view = catalog["nodes"]["model.town.v"]
    assert view["columns"]["bbox"]["type"] == "struct<xmin:double,y_min:double>"
    assert view["metadata"]["type"] == "view"
    assert "rows" not in view["stats"]

    source = catalog["sources"]["source.town.landing.files"]
    assert {name: column["type"] for name, column in source["columns"].items()} == {
        "a": "bigint",
        "s": "struct<b:string>",
    }
    assert source["columns"]["a"]["comment"] == "first"
    assert len(catalog["nodes"]) == 2


def test_a_broken_view_is_left_out_and_named(dbt: Any) -> None:
    dbt.write("models/v.sql", "{{ config(materialized='view') }} select * from {{ target.schema }}.gone")
    dbt.write("models/t.sql", "select 1 as id")
    dbt.run("run", "--select", "t")
    dbt.sql("create table {schema}.gone using delta as select 1 as id")
    dbt.run("run", "--select", "v")
    dbt.sql("drop table {schema}.gone")
    dbt.run("docs", "generate", "--no-compile")
    catalog = json.loads((dbt.root / "target" / "catalog.json").read_text())
    assert "model.town.t" in catalog["nodes"]
