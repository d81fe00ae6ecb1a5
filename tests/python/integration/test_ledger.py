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
