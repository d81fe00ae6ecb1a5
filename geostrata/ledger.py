"""The row ledger: where every landed row is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from geostrata import dbt_calls


@dataclass(frozen=True)
class Account:
    entity: str
    landed: int
    accepted: int
    quarantined: int
    superseded: int
    missing: int
    counted_twice: int

    @property
    def balances(self) -> bool:
        placed = self.accepted + self.quarantined + self.superseded
        return self.missing == 0 and self.counted_twice == 0 and self.landed == placed

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def accounts(target: str | None = None) -> list[Account]:
    rows = dbt_calls.query("select * from {{ ref('row_ledger') }} order by entity", target)
    counts = [field.name for field in fields(Account) if field.name != "entity"]
    return [Account(row["entity"], *(int(row[name]) for name in counts)) for row in rows]


def expectation_counts(target: str | None = None) -> dict[str, dict[str, int]]:
    """Rows that failed each expectation, by entity; warnings among them."""
    rows = dbt_calls.query(
        "select entity, expectation, sum(failed_rows) as failed_rows "
        "from {{ ref('expectation_results') }} group by entity, expectation",
        target,
    )
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(row["entity"], {})[row["expectation"]] = int(row["failed_rows"])
    return counts
