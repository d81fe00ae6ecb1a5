"""A small dbt project of its own on the project's macros, whose files the tests write."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from deltalake import DeltaTable
from project_files import ENTITIES, write_models

from geostrata import dbt_calls

ROOT = Path(__file__).resolve().parents[3]
COPIED = ["macros", "seeds", "models/ops", "tests/generic", "tests/singular", "docs/blocks", "profiles"]


@dataclass(frozen=True)
class Lakehouse:
    project: Path
    state: Path
    # Where a test may start a server of buckets.
    bucket_port: int

    @property
    def landing(self) -> Path:
        return self.state / "landing"

    def write_project(
        self,
        entities: dict[str, Any] = ENTITIES,
        write_models: Callable[[Path], None] = write_models,
    ) -> None:
        for name in COPIED:
            shutil.copytree(ROOT / name, self.project / name)
        write_models(self.project / "models")
        settings = yaml.safe_load((ROOT / "dbt_project.yml").read_text())
        settings["vars"]["entities"] = entities
        (self.project / "dbt_project.yml").write_text(yaml.safe_dump(settings))
        profiles = yaml.safe_load((ROOT / "profiles/profiles.yml").read_text())
        # A handful of rows: the optimising compiler would cost more than it gains.
        profiles["geostrata"]["outputs"]["local"]["spark_config"] = {
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
            "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{self.bucket_port}",
            "spark.hadoop.fs.s3a.access.key": "any",
            "spark.hadoop.fs.s3a.secret.key": "any",
        }
        (self.project / "profiles/profiles.yml").write_text(yaml.safe_dump(profiles))

    def sources(self) -> Any:
        return yaml.safe_load((self.project / "models/_sources.yml").read_text())

    def declare(self, table: str, **external: Any) -> None:
        """Changes the `external:` block of a source, as a person would in its YAML."""
        declared = self.sources()
        for entry in declared["sources"][0]["tables"]:
            if entry["name"] == table:
                entry["external"].update(external)
        (self.project / "models/_sources.yml").write_text(yaml.safe_dump(declared, sort_keys=False))

    def dbt(self, *arguments: str) -> Any:
        """Runs dbt and insists that it succeeds."""
        outcome = dbt_calls.invoke(list(arguments))
        assert outcome.success, dbt_calls.first_line(outcome)
        return outcome

    def dbt_fails(self, *arguments: str) -> str:
        outcome = dbt_calls.invoke(list(arguments))
        assert not outcome.success
        return dbt_calls.first_line(outcome)

    def told(self, *arguments: str) -> str:
        """What a person sees of a dbt command."""
        said = io.StringIO()
        lines: list[str] = []
        with contextlib.redirect_stdout(said):
            outcome = dbt_calls.invoke(list(arguments), lambda event: lines.append(event.info.msg))
        assert outcome.success, dbt_calls.first_line(outcome)
        return "\n".join([said.getvalue(), *lines])

    def land(self, entity: str) -> None:
        self.dbt("run", "--select", f"+{entity}")

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Read by another engine than the one that wrote."""
        schema, table = name.split(".")
        path = self.state / "warehouse" / f"{schema}.db" / table
        return list(DeltaTable(path).to_pyarrow_table().to_pylist())

    def query(self, sql: str) -> list[dict[str, Any]]:
        return dbt_calls.query(sql)

    def account(self, entity: str) -> dict[str, int]:
        (row,) = self.query(f"select * from {{{{ ref('row_ledger') }}}} where entity = '{entity}'")
        return {name: int(value) for name, value in row.items() if name != "entity"}

    def quarantine(self, entity: str) -> list[dict[str, Any]]:
        rows = self.query(f"select * from {{{{ ref('quarantine') }}}} where entity = '{entity}'")
        # `dbt show` gives an array as its JSON text.
        return [{**row, "reasons": json.loads(row["reasons"])} for row in rows]

    def forget(self, entity: str) -> None:
        """An empty folder and no tables, for the next test."""
        from dbt.adapters.sedona import session

        for path in (self.landing / entity).glob("**/*"):
            if path.is_file():
                path.unlink()
        bronze = [f"bronze.{raw}" for raw in ENTITIES[entity]["landed"]]
        for table in (*bronze, f"silver.{entity}_checked", f"silver.{entity}"):
            session._root.sql(f"drop table if exists {table}")
