"""Each generic test finds the row that it is there for, and no other; so does the ledger."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from town import Town

from geostrata import cli, dbt_calls, ledger

GOOD = "st_geomfromwkt('POLYGON ((15 48, 15.001 48, 15.001 48.001, 15 48))')"
BOX = "named_struct('xmin', 15D, 'ymin', 48D, 'xmax', 15.001D, 'ymax', 48.001D)"
CELL = f"st_h3cellids(st_pointonsurface({GOOD}), 9, false)[0]"
ROWS = {
    "good": f"st_asbinary({GOOD}), {BOX}, {CELL}",
    "invalid": f"st_asbinary(st_geomfromwkt('POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))')), {BOX}, {CELL}",
    "outside": f"st_asbinary({GOOD}), named_struct('xmin', 15D, 'ymin', 48D, 'xmax', 200D, 'ymax', 49D), {CELL}",
    "wrong_box": f"st_asbinary({GOOD}), named_struct('xmin', 15D, 'ymin', 48D, 'xmax', 15.002D, 'ymax', 48.001D), {CELL}",
    "wrong_cell": f"st_asbinary({GOOD}), {BOX}, {CELL} + 1",
}


@pytest.fixture(scope="module")
def bad_table(town: Town) -> Iterator[str]:
    selects = " union all ".join(f"select '{name}', {values}" for name, values in ROWS.items())
    town.sql(
        "create or replace table default.bad (name string, geometry binary, bbox struct<xmin: double, ymin: double, "
        "xmax: double, ymax: double>, h3 bigint) using delta"
    )
    town.sql(f"insert into default.bad {selects}")
    yield "bad"
    town.sql("drop table default.bad")


@pytest.mark.parametrize(
    ("test", "caught"),
    [
        ("geometry_is_valid", {"invalid"}),
        ("geometry_is_within_bounds", {"outside"}),
        ("bbox_matches_geometry", {"invalid", "outside", "wrong_box"}),
        ("h3_matches_geometry", {"invalid", "wrong_cell"}),
    ],
)
def test_row_tests(bad_table: str, test: str, caught: set[str]) -> None:
    relation = f"api.Relation.create(schema='default', identifier='{bad_table}')"
    rows = dbt_calls.query(f"{{{{ test_{test}(model={relation}) }}}}")
    assert {row["name"] for row in rows} == caught


def test_the_contract_in_one_pass_finds_what_the_four_find(bad_table: str) -> None:
    relation = f"api.Relation.create(schema='default', identifier='{bad_table}')"
    rows = dbt_calls.query(f"{{{{ test_follows_spatial_contract(model={relation}) }}}}")
    assert {row["name"] for row in rows} == {"invalid", "outside", "wrong_box", "wrong_cell"}


def test_a_table_without_its_crs_is_found(bad_table: str) -> None:
    relation = f"api.Relation.create(schema='default', identifier='{bad_table}')"
    assert len(dbt_calls.query(f"{{{{ test_has_crs_property(model={relation}) }}}}")) == 1


def test_a_geometry_type_of_the_engine_is_found(town: Town) -> None:
    town.sql(
        f"create or replace table default.engine_typed using delta as select {GOOD} as shape, 1 as number"
    )
    relation = "api.Relation.create(schema='default', identifier='engine_typed')"
    rows = dbt_calls.query(f"{{{{ test_has_no_engine_types(model={relation}) }}}}")
    town.sql("drop table default.engine_typed")
    assert [row["column_name"] for row in rows] == ["shape"]


def test_two_rows_of_one_key_are_found(town: Town) -> None:
    town.sql(
        "create or replace table default.twice using delta as select explode(array(1, 1, 2)) as id, 5 as other"
    )
    relation = "api.Relation.create(schema='default', identifier='twice')"
    rows = dbt_calls.query(f"{{{{ test_unique_together(model={relation}, columns=['id', 'other']) }}}}")
    town.sql("drop table default.twice")
    assert [int(row["id"]) for row in rows] == [1]


def test_a_lost_row_is_seen(town: Town) -> None:
    """The ledger can fail: one row taken out of silver is missing, and the command says so."""
    lost = town.rows("silver.facilities", ["facility_id"])[0]["facility_id"]
    version = town.delta("silver.facilities").version()
    town.sql(f"delete from silver.facilities where facility_id = '{lost}'")
    try:
        accounts = {account.entity: account for account in ledger.accounts()}
        assert accounts["facilities"].missing == 1
        assert not accounts["facilities"].balances
        assert cli.main(["account"]) == 1
    finally:
        town.sql(f"restore table silver.facilities to version as of {version}")
    assert all(account.balances for account in ledger.accounts())
