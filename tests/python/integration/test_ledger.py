"""Promise 1: every landed row is accounted for, and every planted fault is found, exactly."""

from __future__ import annotations

import json

import pytest
from town import Town

from geostrata import cli, ledger, summary


def test_the_tables_show_what_was_planted(town: Town) -> None:
    assert summary.compare(town.manifest, ledger.accounts(), ledger.expectation_counts()) == []


def test_account_prints_the_ledger_for_machines(town: Town, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["account", "--json"]) == 0
    printed = json.loads(capfd.readouterr().out)
    assert {row["entity"]: row["landed"] for row in printed} == {
        entity: planted["landed"] for entity, planted in town.manifest["entities"].items()
    }
    assert all(row["missing"] == 0 for row in printed)


def test_a_run_with_nothing_new_writes_nothing(town: Town) -> None:
    before = town.data_files()
    town.dbt("build")
    assert town.data_files() == before


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
