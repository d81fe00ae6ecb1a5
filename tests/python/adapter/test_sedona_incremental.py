"""What incremental models can do here: new rows only, deletes in a merge, replacing by condition, retries."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.sedona import relations, retry

SOURCE = """
    {{ config(materialized='incremental', tblproperties={'delta.enableChangeDataFeed': 'true'}) }}
    select explode(sequence(1, {{ var('rows', 3) }})) as id
    {% if is_incremental() %} except select id from {{ this }} {% endif %}
"""
MERGE = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"


def test_new_rows_reads_each_row_once_and_notes_the_version(dbt: Any) -> None:
    dbt.write("models/source.sql", SOURCE)
    dbt.write(
        "models/target.sql",
        "{{ config(materialized='incremental') }} select id, 'x' as name from {{ new_rows(ref('source')) }}",
    )
    dbt.run("run")
    dbt.run("run", "--vars", "{rows: 5}")
    # Appended, so that a row read twice would be there twice.
    assert dbt.sql("select count(*), count(distinct id) from {schema}.target") == [(5, 5)]
    source_version = dbt.history("source")[0][0]
    note = json.loads(dbt.history("target")[0][2])
    assert note["dbt_inputs"] == {f"{dbt.schema}.source": source_version}

    before = dbt.history("target")
    result = dbt.run("run", "--select", "target")
    assert dbt.history("target") == before
    assert "NOTHING NEW" in result.results[0].message

    dbt.run("run", "--full-refresh", "--vars", "{rows: 2}")
    assert dbt.sql("select id from {schema}.target order by id") == [(1,), (2,)]

    # Dropped and made again, the input begins at version 0: it is another table, read from its start.
    dbt.sql("drop table {schema}.source")
    dbt.write("models/target.sql", MERGE + "select id, 'y' as name from {{ new_rows(ref('source')) }}")
    dbt.run("run", "--vars", "{rows: 4}")
    assert dbt.sql("select id, name from {schema}.target order by id") == [(i, "y") for i in (1, 2, 3, 4)]


def test_an_append_only_table_is_rebuilt_and_stays_one(dbt: Any) -> None:
    config = "{{ config(materialized='incremental', tblproperties={'delta.appendOnly': 'true'}) }}"
    dbt.write("models/kept.sql", config + " select {{ var('id', 1) }} as id")
    dbt.run("run")
    dbt.run("run", "--full-refresh", "--vars", "{id: 2}")
    assert dbt.sql("select id from {schema}.kept") == [(2,)]
    assert ("delta.appendOnly", "true") in dbt.sql("show tblproperties {schema}.kept")


def test_an_append_only_table_that_a_killed_run_did_not_name_is_written_over(
    dbt: Any, tmp_path: Path
) -> None:
    config = "{{ config(materialized='incremental', tblproperties={'delta.appendOnly': 'true'}) }}"
    dbt.write("models/kept.sql", config + " select {{ var('id', 1) }} as id")
    dbt.run("run")
    # As a kill between the commit and the catalog leaves it: the files are there, the name is not.
    folder = Path(relations.location(dbt.spark, f"{dbt.schema}.kept").removeprefix("file:"))
    shutil.copytree(folder, tmp_path / "kept")
    dbt.sql("drop table {schema}.kept")
    shutil.copytree(tmp_path / "kept", folder)
    dbt.run("run", "--vars", "{id: 2}")
    assert dbt.sql("select id from {schema}.kept") == [(2,)]
    assert ("delta.appendOnly", "true") in dbt.sql("show tblproperties {schema}.kept")


LOG = """
    {{ config(materialized='incremental', full_refresh=false, on_schema_change='append_new_columns',
              tblproperties={'delta.appendOnly': 'true'}) }}
    {% do adapter.note_change('written elsewhere', false) %}
    select 1 as id MORE where false
"""


def test_a_log_keeps_its_rows_and_gains_columns(dbt: Any) -> None:
    dbt.write("models/told.sql", LOG.replace("MORE", ""))
    dbt.run("run")
    dbt.sql("insert into {schema}.told values (7)")
    dbt.write("models/told.sql", LOG.replace("MORE", ", 'x' as why"))
    dbt.run("build", "--full-refresh")
    assert dbt.sql("select id, why from {schema}.told") == [(7, None)]
    dbt.sql("insert into {schema}.told values (8, 'so')")
    dbt.run("build", "--full-refresh")
    assert dbt.sql("select id, why from {schema}.told order by id") == [(7, None), (8, "so")]


def test_a_log_outlives_the_catalog(dbt: Any, tmp_path: Path) -> None:
    dbt.write("models/told.sql", LOG.replace("MORE", ""))
    dbt.run("run")
    dbt.sql("insert into {schema}.told values (7)")
    folder = Path(relations.location(dbt.spark, f"{dbt.schema}.told").removeprefix("file:"))
    shutil.copytree(folder, tmp_path / "told")
    dbt.sql("drop table {schema}.told")
    shutil.copytree(tmp_path / "told", folder)
    dbt.run("run", "--full-refresh")
    dbt.run("run")
    assert dbt.sql("select id from {schema}.told") == [(7,)]


@pytest.mark.parametrize(
    "kept", ["full_refresh=false", "full_refresh=none, tblproperties={'delta.appendOnly': 'true'}"]
)
def test_a_view_does_not_take_the_place_of_rows_that_cannot_be_made_again(dbt: Any, kept: str) -> None:
    model = "{{ config(materialized='KIND', KEPT) }} select 1 as id".replace("KEPT", kept)
    dbt.write("models/told.sql", model.replace("KIND", "incremental"))
    dbt.run("run")
    dbt.write("models/told.sql", model.replace("KIND", "view"))
    messages = dbt.messages("run", "--full-refresh")
    assert "a view would take its place" in messages["told"]
    # Nor does `dbt clone`: Delta refuses.
    dbt.write("models/told.sql", model.replace("KIND", "incremental"))
    dbt.run("parse")
    shutil.copytree(dbt.root / "target", dbt.root / "state")
    messages = dbt.messages("clone", "--state", str(dbt.root / "state"), "--full-refresh")
    assert "DELTA_UNSUPPORTED_NON_EMPTY_CLONE" in messages["told"]
    assert dbt.sql("select id from {schema}.told") == [(1,)]


def test_a_model_that_only_compiled_leaves_nothing_to_the_next(dbt: Any) -> None:
    """The first model names an unchanged input and then fails to compile; the second, on the same thread, must write."""
    dbt.write("models/source.sql", SOURCE)
    dbt.write("models/a.sql", MERGE + "select id from {{ new_rows(ref('source')) }}")
    dbt.write(
        "models/b.sql", "{{ config(materialized='incremental') }} select 1 as id -- {{ ref('source') }}"
    )
    dbt.run("run")
    broken = "{{ exceptions.raise_compiler_error('broken') if execute }}"
    dbt.write("models/a.sql", MERGE + "select id from {{ new_rows(ref('source')) }} " + broken)
    dbt.run("run", "--threads", "1", succeeds=False)
    assert dbt.sql("select count(*) from {schema}.b") == [(2,)]


def test_new_rows_in_a_unit_test_are_the_given_rows(dbt: Any) -> None:
    dbt.write("models/source.sql", SOURCE)
    dbt.write("models/target.sql", MERGE + "select id * 2 as id from {{ new_rows(ref('source')) }}")
    dbt.write(
        "models/unit.yml",
        """
        unit_tests:
          - name: doubles
            model: target
            overrides: {macros: {is_incremental: true}}
            given:
              - {input: ref('source'), rows: [{id: 4}]}
            expect: {rows: [{id: 8}]}
        """,
    )
    dbt.run("build")


def test_merge_delete_when(dbt: Any) -> None:
    dbt.write(
        "models/t.sql",
        """
        {{ config(
            materialized='incremental', incremental_strategy='merge', unique_key='id',
            merge_delete_when='source.is_deleted',
            merge_update_when='source.name is distinct from target.name'
        ) }}
        {% if is_incremental() %}
        select * from values (1, 'one', true), (2, 'two', false), (4, 'four', null), (5, 'five', true)
            as t (id, name, is_deleted)
        {% else %}
        select * from values (1, 'one', false), (2, 'zwei', false), (3, 'three', null) as t (id, name, is_deleted)
        {% endif %}
        """,
    )
    dbt.run("run")
    dbt.run("run")
    assert dbt.sql("select id, name from {schema}.t order by id") == [(2, "two"), (3, "three"), (4, "four")]


def test_replace_where(dbt: Any) -> None:
    dbt.write(
        "models/t.sql",
        """
        {{ config(materialized='incremental', incremental_strategy='replace_where') }}
        {% if is_incremental() %} {{ replace_where("day = '2024-05-02'") }} {% endif %}
        select '2024-05-02' as day, {{ var('n', 1) }} as n
        {% if not is_incremental() %} union all select '2024-05-01', 1 {% endif %}
        """,
    )
    dbt.run("run")
    dbt.run("run", "--vars", "{n: 7}")
    assert dbt.sql("select * from {schema}.t order by day") == [("2024-05-01", 1), ("2024-05-02", 7)]
    dbt.write(
        "models/t.sql",
        "{{ config(materialized='incremental', incremental_strategy='replace_where') }} select 'a' as day, 1 as n",
    )
    assert "needs the rows to replace" in dbt.messages("run")["t"]


def test_overwriting_partitions_stays_with_its_model(dbt: Any) -> None:
    by_day = "materialized='incremental', incremental_strategy='insert_overwrite'"
    rows = "select 1 as n, '{{ var('day', 1) }}' as day"
    dbt.write("models/a.sql", "{{ config(" + by_day + ", partition_by='day') }} " + rows)
    dbt.write("models/b.sql", "{{ config(" + by_day + ") }} " + rows + " -- {{ ref('a') }}")
    dbt.run("run", "--threads", "1")
    dbt.run("run", "--threads", "1", "--vars", "{day: 2}")
    assert dbt.sql("select day from {schema}.a order by day") == [("1",), ("2",)]
    assert dbt.sql("select day from {schema}.b") == [("2",)]


def test_a_statement_that_lost_to_another_writer_runs_again(dbt: Any, monkeypatch: Any) -> None:
    """The merge waits, in a Python macro, until another session has changed the very rows that it read."""
    started, written = dbt.root / "started", dbt.root / "written"
    dbt.write(
        "macros/python/wait.py",
        f"""
        import pathlib
        import time


        def wait_for_the_other(number: int) -> int:
            pathlib.Path({str(started)!r}).touch()
            for _ in range(300):
                if pathlib.Path({str(written)!r}).exists():
                    break
                time.sleep(0.1)
            return number
        """,
    )
    dbt.write(
        "models/t.sql",
        MERGE + "select 1 as id, {{ 'wait_for_the_other(5)' if is_incremental() else '0' }} as n",
    )
    dbt.run("run")
    told: list[str] = []
    monkeypatch.setattr(retry.logger, "info", told.append)
    other = threading.Thread(target=_write_meanwhile, args=(dbt, started, written))
    other.start()
    dbt.run("run")
    other.join()
    assert dbt.sql("select * from {schema}.t") == [(1, 5)]
    assert [operation for _, operation, _ in dbt.history("t")[:2]] == ["MERGE", "UPDATE"]
    assert [line for line in told if line.startswith("Another writer changed the table: retry 1 of 5")]


def _write_meanwhile(dbt: Any, started: Path, written: Path) -> None:
    while not started.exists():
        time.sleep(0.05)
    dbt.sql("update {schema}.t set n = 100 where id = 1")
    written.touch()


def test_a_snapshot_of_an_unchanged_table_writes_nothing(dbt: Any) -> None:
    dbt.write("seeds/places.csv", "id,name\n1,one\n2,two\n")
    dbt.write("models/places_now.sql", "select * from {{ ref('places') }}")
    snapshot = """
        snapshots:
          - name: places_history
            relation: ref('places_now')
            config:
              unique_key: id
              strategy: check
              check_cols: [name]
              hard_deletes: %s
              post_hook: "create table {{ this.schema }}.hook_{{ invocation_id | replace('-', '_') }} as select 1 as id"
        """
    dbt.write("snapshots/places.yml", snapshot % "ignore")
    dbt.run("build")
    (again,) = dbt.run("snapshot").results
    assert again.message == "NOTHING NEW"
    assert len(dbt.sql("show tables in {schema} like 'hook_*'")) == 2, "hooks run all the same"

    dbt.sql("update {schema}.places_now set name = 'three' where id = 2")
    dbt.sql("delete from {schema}.places_now where id = 1")
    dbt.run("snapshot")
    rows = "select id, name, dbt_valid_to is null from {schema}.places_history order by dbt_valid_from, id"
    assert dbt.sql(rows) == [(1, "one", True), (2, "two", False), (2, "three", True)]

    # Another config may find something in the same table.
    dbt.write("snapshots/places.yml", snapshot % "invalidate")
    dbt.run("snapshot")
    assert dbt.sql(rows) == [(1, "one", False), (2, "two", False), (2, "three", True)]
    (again,) = dbt.run("snapshot").results
    assert again.message == "NOTHING NEW"
