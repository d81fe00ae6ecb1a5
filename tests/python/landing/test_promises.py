"""Ways in which a row was once lost, doubled or kept too long."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import geopandas
import pytest
import shapely
import yaml
from lakehouse import Lakehouse
from project_files import SIGN_EXPECTATIONS, write_model, write_yaml
from test_arrivals import HEADER, LONG_AGO, balanced, sign, silver, write

GOLD = "models/gold"


@pytest.fixture(autouse=True)
def empty(lakehouse: Lakehouse) -> Iterator[None]:
    lakehouse.forget("signs")
    yield
    shutil.rmtree(lakehouse.project / GOLD, ignore_errors=True)
    from dbt.adapters.sedona import session

    for name in ("sign_days", "sign_names"):
        session._root.sql(f"drop table if exists gold.{name}")


def gold(lakehouse: Lakehouse, name: str, text: str) -> None:
    write_model(lakehouse.project / GOLD / f"{name}.sql", text)


def spark_sql(statement: str) -> Any:
    from dbt.adapters.sedona import session

    return session._root.sql(statement)


def notes(table: str) -> dict[int, bool]:
    """Of each commit whether it says what it was made from."""
    rows = spark_sql(f"describe history {table}").select("version", "userMetadata").collect()
    return {row[0]: "dbt_inputs" in (row[1] or "") for row in rows}


# Notes


def test_only_the_commit_that_writes_rows_carries_the_note(lakehouse: Lakehouse) -> None:
    """A run that dies between ADD COLUMNS and INSERT must load the file the next time."""
    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    spark_sql("alter table bronze.raw_signs add constraint short check (label <> 'refused by the table')")
    longer = HEADER.replace("geometry", "owner,geometry")
    line = sign("2", "refused by the table").replace('"POINT', 'Ann,"POINT')
    lakehouse.declare("signs", schema_policy="additive")
    try:
        write(lakehouse, "b.csv", line, header=longer)
        lakehouse.dbt_fails("run", "--select", "+signs")
        assert "owner" in spark_sql("select * from bronze.raw_signs").columns, "the columns were added"
        spark_sql("alter table bronze.raw_signs drop constraint short")
        lakehouse.land("signs")
        assert silver(lakehouse) == {"1": "one", "2": "refused by the table"}
    finally:
        lakehouse.declare("signs", schema_policy="rescue")
    balanced(lakehouse)
    history = spark_sql("describe history bronze.raw_signs").select("version", "operation").collect()
    writes = {row[0] for row in history if row[1].startswith(("CREATE", "WRITE"))}
    assert {version for version, is_noted in notes("bronze.raw_signs").items() if is_noted} == writes


def test_two_runs_that_load_the_same_file_load_it_once(lakehouse: Lakehouse) -> None:
    """The second run planned before the first had committed."""
    from dbt.adapters.sedona.input_versions import InputVersions

    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    write(lakehouse, "b.csv", sign("2", "two"))
    armed = InputVersions.arm
    ran = []

    def other_first(self: InputVersions) -> None:
        if not ran and self._model and self._model.endswith("raw_signs"):
            ran.append(True)
            here = spark_sql("select max(_delivery) + 1 from bronze.raw_signs").collect()[0][0]
            newest = max(notes("bronze.raw_signs"))
            session_conf = {
                "spark.databricks.delta.write.txnAppId": "dbt",
                "spark.databricks.delta.write.txnVersion": str(newest + 1),
            }
            for name, value in session_conf.items():
                spark_sql(f"set {name} = {value}")
            spark_sql(
                "insert into bronze.raw_signs by name select * except (_delivery, sign_id, _row_id, _source_file), "
                f"bigint({here}) as _delivery, '2' as sign_id, concat(_row_id, 'x') as _row_id, "
                "replace(_source_file, 'a.csv', 'b.csv') as _source_file from bronze.raw_signs"
            )
            for name in session_conf:
                spark_sql(f"reset {name}")
        armed(self)

    InputVersions.arm = other_first  # type: ignore[method-assign]
    try:
        lakehouse.dbt("run", "--select", "raw_signs")
    finally:
        InputVersions.arm = armed  # type: ignore[method-assign]
    assert ran
    assert sorted(row["sign_id"] for row in lakehouse.rows("bronze.raw_signs")) == ["1", "2"]
    lakehouse.land("signs")
    assert sorted(silver(lakehouse)) == ["1", "2"]


def test_a_restored_table_is_brought_up_again(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    before = max(notes("silver.signs"))
    write(lakehouse, "b.csv", sign("2", "two"))
    lakehouse.land("signs")
    for table in ("silver.signs", "silver.signs_checked", "bronze.raw_signs"):
        spark_sql(f"restore table {table} to version as of {before if table == 'silver.signs' else 0}")
        lakehouse.land("signs")
        assert silver(lakehouse) == {"1": "one", "2": "two"}, table
        balanced(lakehouse)


# Full refreshes


def test_a_full_refresh_loses_no_file_that_is_gone(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "archived"))
    write(lakehouse, "b.csv", sign("2", "two"))
    lakehouse.land("signs")
    archived = lakehouse.landing / "signs" / "a.csv"
    content = archived.read_bytes()
    archived.unlink()
    said = lakehouse.dbt_fails("run", "--select", "+signs", "--full-refresh")
    assert "a full refresh would lose the rows of 1 files" in said and str(archived) in said
    assert "drop_missing_files: true" in said
    assert silver(lakehouse) == {"1": "archived", "2": "two"}
    folder = archived.parent
    folder.rename(folder.with_name("unmounted"))
    try:
        assert "2 files" in lakehouse.dbt_fails("run", "--select", "+signs", "--full-refresh")
    finally:
        folder.with_name("unmounted").rename(folder)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "archived", "2": "two"}
    lakehouse.dbt("run", "--select", "+signs", "--full-refresh", "--vars", "drop_missing_files: true")
    assert silver(lakehouse) == {"2": "two"}
    assert balanced(lakehouse)["landed"] == 1
    # The word for one run is no part of the model's code.
    assert "have changed" not in lakehouse.told("run", "--select", "+signs")
    archived.write_bytes(content)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "archived", "2": "two"}


def test_a_full_refresh_loses_no_rows_to_a_file_that_is_refused(lakehouse: Lakehouse) -> None:
    path = write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    path.write_text("")
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "one"}, "what was refused takes nobody's place"
    said = lakehouse.dbt_fails("run", "--select", "+signs", "--full-refresh")
    assert "were read before and can't be now" in said and str(path) in said
    assert silver(lakehouse) == {"1": "one"}


# What identifies a file


def test_a_file_that_is_put_back_counts(lakehouse: Lakehouse) -> None:
    good = write(lakehouse, "a.csv", sign("1", "good"), sign("2", "two"))
    kept = good.with_name("_kept.csv")
    shutil.copy2(good, kept)
    lakehouse.land("signs")
    write(lakehouse, "a.csv", sign("1", "bad"), at=LONG_AGO + 60)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "bad"}
    shutil.copy2(kept, good)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "good", "2": "two"}
    balanced(lakehouse)
    ids = {row["_row_id"] for row in lakehouse.rows("silver.signs")}
    lakehouse.dbt("run", "--select", "+signs", "--full-refresh")
    assert silver(lakehouse) == {"1": "good", "2": "two"}
    assert {row["_row_id"] for row in lakehouse.rows("silver.signs")} == ids
    # And back and forth once more: every delivery has ids of its own.
    write(lakehouse, "a.csv", sign("1", "bad"), at=LONG_AGO + 60)
    lakehouse.land("signs")
    shutil.copy2(kept, good)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "good", "2": "two"}
    balanced(lakehouse)
    kept.unlink()


def test_a_correction_with_an_earlier_time_counts(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "wrong"))
    lakehouse.land("signs")
    write(lakehouse, "a.csv", sign("1", "corrected"), at=LONG_AGO - 60)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "corrected"}
    lakehouse.dbt("run", "--select", "+signs", "--full-refresh")
    assert silver(lakehouse) == {"1": "corrected"}
    balanced(lakehouse)


@pytest.mark.parametrize("label", ["longer than before", "two"], ids=["another size", "same size"])
def test_other_content_of_the_same_time_counts(lakehouse: Lakehouse, label: str) -> None:
    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    write(lakehouse, "a.csv", sign("1", label))
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": label}
    balanced(lakehouse)


def test_a_file_that_was_only_touched_is_not_loaded_again(lakehouse: Lakehouse) -> None:
    path = write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    path.chmod(0o600)
    lakehouse.land("signs")
    assert balanced(lakehouse)["landed"] == 1


def test_a_redelivery_without_rows_takes_the_rows_away(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "one"))
    write(lakehouse, "b.csv", sign("2", "two"))
    lakehouse.land("signs")
    write(lakehouse, "a.csv", at=LONG_AGO + 60)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"2": "two"}
    (row,) = lakehouse.quarantine("signs")
    assert row["reasons"] == ["file_has_rows"]
    account = balanced(lakehouse)
    assert (account["accepted"], account["superseded"], account["quarantined"]) == (1, 1, 1)


# Refusals


def test_a_refused_file_is_read_again_when_it_is_released(lakehouse: Lakehouse) -> None:
    """The declaration was wrong, not the file."""
    lakehouse.declare("signs", schema_policy="strict")
    longer = HEADER.replace("geometry", "owner,geometry")
    write(lakehouse, "a.csv", sign("1", "one").replace('"POINT', 'Ann,"POINT'), header=longer)
    try:
        lakehouse.land("signs")
        assert silver(lakehouse) == {}
    finally:
        lakehouse.declare("signs", schema_policy="rescue")
    lakehouse.land("signs")
    assert silver(lakehouse) == {}, "a refusal stands until it is released"
    arguments = "{entity: signs, reason: file_accepted, dry_run: false}"
    lakehouse.dbt("run-operation", "release_quarantine", "--args", arguments)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "one"}
    account = balanced(lakehouse)
    assert (account["accepted"], account["superseded"], account["quarantined"]) == (1, 1, 0)


def test_an_unknown_crs_takes_no_key_away(lakehouse: Lakehouse) -> None:
    """Without any expectation in its YAML a row without a place is quarantined, and the version before it stays."""
    # The ledger looks at all entities.
    lakehouse.land("signs")
    lakehouse.forget("things")
    folder = lakehouse.landing / "things" / "csv"
    header = "thing_id,name,amount,seen_at,crs,geometry\n"
    meta = lakehouse.project / "models/silver/_silver.yml"
    kept = meta.read_text()
    declared = yaml.safe_load(kept)
    declared["models"][0]["config"]["meta"]["expectations"] = []
    meta.write_text(yaml.safe_dump(declared))
    try:
        (folder / "a.csv").write_text(header + '1,one,1,2026-01-01T00:00:00Z,EPSG:4326,"POINT (15 48)"\n')
        lakehouse.land("things")
        (folder / "b.csv").write_text(
            header + '1,new,1,2026-01-02T00:00:00Z,EPSG:999999,"POINT (15 48)"\n'
            ',no key,1,2026-01-02T00:00:00Z,EPSG:4326,"POINT (15 48)"\n'
        )
        lakehouse.land("things")
        assert {row["thing_id"]: row["name"] for row in lakehouse.rows("silver.things")} == {"1": "one"}
        reasons = sorted(row["reasons"] for row in lakehouse.quarantine("things"))
        assert reasons == [["crs_known"], ["key_present"]]
        balanced(lakehouse, "things")
    finally:
        meta.write_text(kept)
        lakehouse.forget("things")
        lakehouse.land("things")


# What "changed" means

DAYS = """
{{ config(contract={'enforced': false}) }}
{%- set days = recompute_dates(ref('signs'), 'updated_at') %}

select date(updated_at) as event_date, count(*) as sign_count
from {{ ref('signs') }}
where {{ days | replace('event_date', 'date(updated_at)') }}
group by date(updated_at)
"""
NAMES = """
{{ config(contract={'enforced': false}, incremental_strategy='merge', unique_key='sign_id') }}

select sign_id, label from {{ new_rows(ref('signs')) }}
"""


def days(lakehouse: Lakehouse) -> list[str]:
    return sorted(str(row["event_date"]) for row in lakehouse.rows("gold.sign_days"))


def test_a_day_that_is_gone_from_silver_is_gone_from_gold(lakehouse: Lakehouse) -> None:
    """Silver was made anew by another rule."""
    gold(lakehouse, "sign_days", DAYS)
    write(lakehouse, "a.csv", sign("1", "one", day=1), sign("2", "two", day=2))
    lakehouse.dbt("run", "--select", "+sign_days")
    assert days(lakehouse) == ["2026-01-01", "2026-01-02"]
    sources = lakehouse.sources()
    rule = {"name": "early", "check": "updated_at < timestamp '2026-01-02'"}
    with declared_rules(lakehouse, [*SIGN_EXPECTATIONS, rule]):
        lakehouse.dbt("run", "--select", "signs_checked", "signs", "--full-refresh")
        lakehouse.dbt("run", "--select", "+sign_days")
        assert silver(lakehouse) == {"1": "one"}
        assert days(lakehouse) == ["2026-01-01"]
        balanced(lakehouse)
    assert lakehouse.sources() == sources
    # The rule is gone again: plain runs follow it, no refresh is needed.
    lakehouse.dbt("run", "--select", "+sign_days")
    assert silver(lakehouse) == {"1": "one", "2": "two"}
    assert days(lakehouse) == ["2026-01-01", "2026-01-02"]
    balanced(lakehouse)


class declared_rules:  # noqa: N801  # reads as a statement
    def __init__(self, lakehouse: Lakehouse, rules: list[dict[str, Any]]) -> None:
        self.path = lakehouse.project / "models/_sources.yml"
        self.rules = rules

    def __enter__(self) -> None:
        self.kept = self.path.read_text()
        declared = yaml.safe_load(self.kept)
        for table in declared["sources"][0]["tables"]:
            if table["name"] == "signs":
                table["config"]["meta"]["expectations"] = self.rules
        self.path.write_text(yaml.safe_dump(declared, sort_keys=False))

    def __exit__(self, *_: object) -> None:
        self.path.write_text(self.kept)


def test_an_edited_model_is_applied_to_all_rows(lakehouse: Lakehouse) -> None:
    gold(lakehouse, "sign_days", DAYS)
    gold(lakehouse, "sign_names", NAMES)
    write(lakehouse, "a.csv", sign("1", "one", day=1), sign("2", "two", day=1))
    lakehouse.dbt("run", "--select", "+sign_days", "sign_names")
    gold(lakehouse, "sign_days", DAYS.replace("count(*)", "2 * count(*)"))
    gold(lakehouse, "sign_names", NAMES.replace("sign_id, label", "sign_id, upper(label) as label"))
    lakehouse.dbt("run", "--select", "+sign_days", "sign_names")
    assert [row["sign_count"] for row in lakehouse.rows("gold.sign_days")] == [4]
    assert sorted(row["label"] for row in lakehouse.rows("gold.sign_names")) == ["ONE", "TWO"]
    before = max(notes("gold.sign_days"))
    lakehouse.dbt("run", "--select", "+sign_days", "sign_names")
    assert max(notes("gold.sign_days")) == before, "nothing new, nothing written"


def test_an_edited_model_that_can_not_be_computed_again_says_so(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    model = lakehouse.project / "models/bronze/raw_signs.sql"
    kept = model.read_text()
    try:
        model.write_text(kept + "-- edited\n")
        said = lakehouse.told("run", "--select", "raw_signs")
        assert "bronze.raw_signs: its SQL, config, macros or variables have changed" in said
        assert "--full-refresh" in said
        assert len(lakehouse.rows("bronze.raw_signs")) == 1
    finally:
        model.write_text(kept)


def test_rejudged_content_reaches_silver(lakehouse: Lakehouse) -> None:
    """The row is the same, what is made of it is not."""
    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    spark_sql("update silver.signs_checked set label = 'as judged again'")
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "as judged again"}


def test_new_rows_are_the_net_change(lakehouse: Lakehouse) -> None:
    gold(lakehouse, "sign_names", NAMES)
    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.dbt("run", "--select", "+sign_names")
    write(lakehouse, "a.csv", sign("1", "twice"), sign("9", "comes and goes"), at=LONG_AGO + 60)
    lakehouse.land("signs")
    write(lakehouse, "a.csv", sign("1", "three times"), at=LONG_AGO + 120)
    lakehouse.land("signs")
    lakehouse.dbt("run", "--select", "+sign_names")
    found = {row["sign_id"]: row["label"] for row in lakehouse.rows("gold.sign_names")}
    assert found == {"1": "three times"}


# Text of files


def test_names_of_new_columns_are_no_sql(lakehouse: Lakehouse) -> None:
    hostile = "x`) ; drop table silver.signs; --"
    header = HEADER.replace("geometry", f'"{hostile}",select,Label,owner,geometry')
    line = sign("1", "one").replace('"POINT', 'a,b,c,Ann,"POINT')
    lakehouse.declare("signs", schema_policy="additive")
    try:
        write(lakehouse, "a.csv", sign("0", "zero"))
        lakehouse.land("signs")
        write(lakehouse, "b.csv", line, header=header)
        said = lakehouse.told("run", "--select", "+signs")
        assert "landing.signs: new columns: owner string" in said
        assert silver(lakehouse) == {"0": "zero", "1": "one"}
        (row,) = [row for row in lakehouse.rows("bronze.raw_signs") if row["sign_id"] == "1"]
        assert row["owner"] == "Ann"
        assert {hostile, "select"} <= set(json.loads(row["_rescued"]))
        assert not {hostile, "select"} & set(row)
    finally:
        lakehouse.declare("signs", schema_policy="rescue")
    balanced(lakehouse)


def test_a_reason_is_text(lakehouse: Lakehouse) -> None:
    lakehouse.land("signs")
    lakehouse.land("things")
    lakehouse.land("stops")
    for reason in ("it's", "\\", "\\' or true --", "{{ 1 }}"):
        arguments = json.dumps({"entity": "signs", "reason": reason, "dry_run": False})
        assert "signs: 0 rows are quarantined" in lakehouse.told(
            "run-operation", "release_quarantine", "--args", arguments
        )


def test_two_layers_of_one_file_are_two_sources_of_one_table(lakehouse: Lakehouse) -> None:
    folder = lakehouse.landing / "layers"
    folder.mkdir()
    models = lakehouse.project / "models/bronze"
    sources = models / "_layers.yml"

    def deliver(name: str, **layers: list[str]) -> None:
        for layer, ids in layers.items():
            shapes = geopandas.GeoDataFrame(
                {"thing_id": ids}, geometry=[shapely.Point(15, 48)] * len(ids), crs="EPSG:4326"
            )
            shapes.to_file(folder / name, layer=layer, driver="GPKG")

    tables = [
        {
            "name": f"layer_{layer}",
            "external": {
                "location": "{{ var('landing') }}/layers",
                "file_format": "geopackage",
                "options": {"layer": layer},
            },
            "columns": [
                {"name": "thing_id", "data_type": "string"},
                {"name": "geometry", "data_type": "binary"},
            ],
        }
        for layer in ("roads", "rivers")
    ]
    write_yaml(sources, {"sources": [{"name": "layers", "schema": "landing", "tables": tables}]})
    write_model(
        models / "raw_layers.sql",
        "select * from {{ landed_rows('layers', 'layer_roads') }}\nunion all\n"
        "select * from {{ landed_rows('layers', 'layer_rivers') }}\n",
    )

    def ids() -> list[str]:
        rows = lakehouse.rows("bronze.raw_layers")
        assert len({row["_row_id"] for row in rows}) == len(rows)
        return sorted(row["thing_id"] for row in rows)

    try:
        deliver("a.gpkg", roads=["r1", "r2"], rivers=["w1", "w2"])
        lakehouse.dbt("run", "--select", "raw_layers")
        assert ids() == ["r1", "r2", "w1", "w2"]
        deliver("b.gpkg", roads=["r3"], rivers=["w3"])
        lakehouse.dbt("run", "--select", "raw_layers")
        assert ids() == ["r1", "r2", "r3", "w1", "w2", "w3"]
        lakehouse.dbt("run", "--select", "raw_layers")
        lakehouse.dbt("run", "--select", "raw_layers", "--full-refresh")
        assert ids() == ["r1", "r2", "r3", "w1", "w2", "w3"]
    finally:
        sources.unlink()
        (models / "raw_layers.sql").unlink()
        shutil.rmtree(folder)
        spark_sql("drop table if exists bronze.raw_layers")


def test_one_model_does_not_load_a_file_twice(lakehouse: Lakehouse) -> None:
    twice = lakehouse.project / "models/bronze/raw_twice.sql"
    rows = "select _source_file from {{ landed_rows('landing', 'signs') }}"
    write(lakehouse, "a.csv", sign("1", "one"))
    write_model(twice, f"{rows}\nunion all\n{rows}\n")
    try:
        assert "a.csv would be loaded twice by one model" in lakehouse.dbt_fails(
            "run", "--select", "raw_twice"
        )
        write_model(twice, f"{rows}\n")
        lakehouse.dbt("run", "--select", "raw_twice")
        assert len(lakehouse.rows("bronze.raw_twice")) == 1
    finally:
        twice.unlink()
        spark_sql("drop table if exists bronze.raw_twice")
