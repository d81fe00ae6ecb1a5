"""More data arrives: incremental runs end in the state of a full one."""

from __future__ import annotations

from typing import Any

from town import Town

from geostrata import ledger, summary

# Where a row came from differs between two loads of the same files; what it says must not.
PROVENANCE = {"_source_file", "_ingested_at", "_batch_id", "_row_id"}


def test_a_new_day_is_added_and_equals_a_full_refresh(town: Town) -> None:
    town.add_day(4)
    town.add_day(5)
    town.dbt("build")
    assert summary.compare(town.manifest, ledger.accounts(), ledger.expectation_counts()) == []
    incremental = contents(town)
    town.dbt("run", "--full-refresh", "--select", "silver", "gold", "--exclude", "config.materialized:view")
    assert contents(town) == incremental


def contents(town: Town) -> dict[str, list[Any]]:
    """Every silver entity and gold table, without provenance, in one order."""
    names = [
        f"{path.parent.name.removesuffix('.db')}.{path.name}"
        for layer in ("silver", "gold")
        for path in sorted((town.state / "warehouse" / f"{layer}.db").iterdir())
        if not path.name.endswith("_checked")
    ]
    assert len(names) == 10
    return {
        name: sorted(repr({k: v for k, v in row.items() if k not in PROVENANCE}) for row in town.rows(name))
        for name in names
    }
