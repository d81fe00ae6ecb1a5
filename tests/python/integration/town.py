"""What tests ask of a small town: dbt in this process, and its tables through another engine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow
from deltalake import DeltaTable

from geostrata import dbt_calls, demo


@dataclass(frozen=True)
class AsBuilt:
    """The town before any test has changed it."""

    manifest: dict[str, Any]
    silver: dict[str, list[str]]
    gold: dict[str, list[str]]


@dataclass(frozen=True)
class Town:
    state: Path

    @property
    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.state / "landing" / "manifest.json").read_text()))

    def dbt(self, *arguments: str) -> Any:
        """Runs dbt and insists that it succeeds."""
        outcome = dbt_calls.invoke(list(arguments))
        assert outcome.success, dbt_calls.first_line(outcome)
        return outcome

    def sql(self, statement: str) -> list[Any]:
        """A statement in the session that dbt uses: what dbt would not do."""
        from dbt.adapters.sedona import session

        return list(session._root.sql(statement).collect())

    def add_day(self, day: int) -> None:
        demo.generate(
            self.state / "landing", scale=self.manifest["scale"], seed=self.manifest["seed"], days=day
        )

    def delta(self, name: str) -> DeltaTable:
        schema, table = name.split(".")
        return DeltaTable(self.state / "warehouse" / f"{schema}.db" / table)

    def rows(self, name: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """Read by another engine than the one that wrote."""
        return list(pyarrow.table(self.delta(name).to_pyarrow_table(columns=columns)).to_pylist())

    def gold(self) -> dict[str, list[str]]:
        """All rows of all gold tables, in an order of their own."""
        tables = sorted((self.state / "warehouse" / "gold.db").iterdir())
        return {path.name: sorted(map(repr, self.rows(f"gold.{path.name}"))) for path in tables}

    def silver(self) -> dict[str, list[str]]:
        """All rows of the entities, but for what tells when and where they were loaded."""
        return {
            entity: sorted(
                repr({name: value for name, value in row.items() if not name.startswith("_")})
                for row in self.rows(f"silver.{entity}")
            )
            for entity in self.manifest["entities"]
        }

    @cached_property
    def as_built(self) -> AsBuilt:
        """Of the first moment at which it is asked for: the fixture does."""
        return AsBuilt(self.manifest, self.silver(), self.gold())

    def data_files(self) -> dict[str, set[str]]:
        """The live data files of every Delta table."""
        tables = sorted(path.parent for path in (self.state / "warehouse").glob("*.db/*/_delta_log"))
        return {f"{path.parent.name}/{path.name}": set(DeltaTable(path).file_uris()) for path in tables}
