"""The workbench with this project's hooks, so that models are checked and laid out as those of the layers are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from deltalake import DeltaTable
from workbench import ROOT, Workbench

from geostrata import dbt_calls


class LifecycleBench(Workbench):
    def write_project(self) -> None:
        super().write_project()
        # As a copy of the whole project has them: one session serves both, where other settings would start a second JVM.
        shutil.copytree(ROOT / "profiles", self.project / "profiles", dirs_exist_ok=True)
        project = yaml.safe_load((ROOT / "dbt_project.yml").read_text())
        file = self.project / "dbt_project.yml"
        kept = yaml.safe_load(file.read_text())
        kept["on-run-start"] = project["on-run-start"]
        kept["models"]["+post-hook"] = project["models"]["geostrata"]["+post-hook"]
        # What a layer declares; models add to it.
        kept["models"]["+tblproperties"] = {
            "catalog.team_name": "town",
            "delta.logRetentionDuration": "interval 30 days",
        }
        file.write_text(yaml.safe_dump(kept, sort_keys=False))

    def write_log(self, name: str) -> None:
        """A table of models/ops/logs, as the project declares those."""
        declared = yaml.safe_load((ROOT / "dbt_project.yml").read_text())["models"]["geostrata"]["ops"]
        config = {key.removeprefix("+"): value for key, value in declared["logs"].items()}
        sql = (ROOT / "models/ops/logs" / f"{name}.sql").read_text()
        self.write({name: f"{{{{ config(schema='ops', **{config!r}) }}}}\n{sql}"})

    def path(self, name: str) -> Path:
        """Where the table of a model lies."""
        return self.state / "warehouse" / "tried.db" / name

    def log(self, name: str) -> DeltaTable:
        return DeltaTable(self.path(name))

    def properties(self, name: str) -> dict[str, str]:
        return self.log(name).metadata().configuration

    def files(self, name: str) -> list[dict[str, Any]]:
        """Of the newest version, each with path, size and statistics."""
        found: list[dict[str, Any]] = pa.table(self.log(name).get_add_actions(flatten=True)).to_pylist()
        return found

    def commits(self, name: str) -> list[dict[str, Any]]:
        """What each commit says of itself, oldest first."""
        found = []
        for file in sorted((self.path(name) / "_delta_log").glob("*.json")):
            actions = [json.loads(line) for line in file.read_text().splitlines()]
            found += [action["commitInfo"] for action in actions if "commitInfo" in action]
        return found

    def build(self, name: str, sql: str, *arguments: str) -> list[str]:
        """Runs one model; the lines that speak of its table."""
        self.write({name: sql})
        outcome, lines = self.dbt("run", "--select", name, *arguments)
        assert outcome.success, dbt_calls.first_line(outcome)
        return [line for line in lines if line.startswith(f"tried.{name}: ")]

    def refusal(self, models: dict[str, str]) -> str:
        """What stops a run of these models. They are forgotten."""
        self.write(models)
        try:
            outcome, _ = self.dbt("run", "--select", *models)
        finally:
            self.forget(models)
        assert not outcome.success, "these models should be refused"
        return dbt_calls.first_line(outcome)

    def dbt(self, *arguments: str) -> tuple[Any, list[str]]:
        """Any dbt command: its outcome, and the lines that a person saw."""
        lines: list[str] = []

        def listen(event: Any) -> None:
            if event.info.level != "debug":
                lines.append(event.info.msg)

        return dbt_calls.invoke(list(arguments), listen), lines

    def spark(self) -> Any:
        """The session that dbt has started, for what no other engine can do."""
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
        assert session is not None, "run a model first"
        return session
