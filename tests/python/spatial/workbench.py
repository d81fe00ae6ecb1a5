"""A dbt project with nothing but this project's macros, for models and tables that tests make up."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from deltalake import DeltaTable, write_deltalake

from geostrata import dbt_calls

ROOT = Path(__file__).resolve().parents[3]
COPIED = ["macros", "tests/generic", "profiles"]


@dataclass(frozen=True)
class Workbench:
    project: Path
    state: Path

    def write_project(self) -> None:
        for name in COPIED:
            shutil.copytree(ROOT / name, self.project / name)
        settings = yaml.safe_load((ROOT / "dbt_project.yml").read_text())
        kept = {
            name: settings[name] for name in ("name", "version", "profile", "macro-paths", "flags", "vars")
        }
        kept["model-paths"], kept["test-paths"] = ["models"], ["tests"]
        kept["models"] = {"+file_format": "delta", "+materialized": "table", "+schema": "tried"}
        profiles = yaml.safe_load((ROOT / "profiles/profiles.yml").read_text())
        # A handful of rows: the optimising compiler would cost more than it gains.
        profiles["geostrata"]["outputs"]["local"]["spark_config"] = {
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
        }
        (self.project / "profiles/profiles.yml").write_text(yaml.safe_dump(profiles))
        (self.project / "models").mkdir()
        (self.project / "dbt_project.yml").write_text(yaml.safe_dump(kept))

    def table(self, name: str, content: pa.Table) -> str:
        """A Delta table of these rows, and how SQL calls it: what macros take in place of a ref()."""
        path = self.state / "given" / name
        write_deltalake(path, content, mode="overwrite", schema_mode="overwrite")
        return f"delta.`{path}`"

    def run(self, models: dict[str, str], *arguments: str) -> dict[str, pa.Table]:
        """Builds models (name: SQL with Jinja) in one `dbt run`; what their tables hold, read by another engine."""
        self.write(models)
        outcome = dbt_calls.invoke(["run", "--select", *models, *arguments])
        assert outcome.success, dbt_calls.first_line(outcome)
        return {name: self.read(name) for name in models}

    def write(self, models: dict[str, str]) -> None:
        for name, sql in models.items():
            (self.project / "models" / f"{name}.sql").write_text(sql)

    def forget(self, models: Iterable[str]) -> None:
        """So that the next run need not read them."""
        for name in models:
            (self.project / "models" / f"{name}.sql").unlink(missing_ok=True)

    def read(self, name: str) -> pa.Table:
        return DeltaTable(self.state / "warehouse" / "tried.db" / name).to_pyarrow_table()

    def error(self, sql: str) -> str:
        """The one line that a person gets who writes this model."""
        self.write({"wrong": sql})
        outcome = dbt_calls.invoke(["run", "--select", "wrong"])
        (self.project / "models" / "wrong.sql").unlink()
        assert not outcome.success, "this model should fail"
        return dbt_calls.first_line(outcome)

    def told(self, sql: str) -> list[str]:
        """What a person is told while this model is built."""
        lines: list[str] = []
        listener: Callable[[Any], None] = lambda event: lines.append(event.info.msg)  # noqa: E731
        self.write({"telling": sql})
        outcome = dbt_calls.invoke(["run", "--select", "telling"], listener)
        assert outcome.success, dbt_calls.first_line(outcome)
        return lines

    def test(self, model: str, sql: str, tests: list[dict[str, Any]]) -> list[int]:
        """Failing rows of each generic test (`{"no_overlaps": {"tolerance_m2": 1}}`) on a model."""
        self.write({model: sql})
        arguments = [{name: {"arguments": given}} for test in tests for name, given in test.items()]
        described = {"version": 2, "models": [{"name": model, "data_tests": arguments}]}
        file = self.project / "models" / f"_{model}.yml"
        file.write_text(yaml.safe_dump(described, sort_keys=False))
        outcome = dbt_calls.invoke(["build", "--select", model])
        file.unlink()
        assert outcome.exception is None, dbt_calls.first_line(outcome)
        found = {result.node.name: result for result in outcome.result.results}
        errors = [result.message for result in found.values() if result.status in ("error", "skipped")]
        assert not errors, errors
        order = [result for result in found.values() if result.node.resource_type == "test"]
        order.sort(key=lambda result: result.node.created_at)
        return [int(result.failures) for result in order]
