"""Worlds of files and tables for the model of the landing, in one Spark session."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from geostrata import settings

# The small project of the landing tests serves here as well.
sys.path.append(str(Path(__file__).resolve().parents[1] / "landing"))

import killing
import transient_faults
import worlds
from ground import OPS, Ground
from lakehouse import Lakehouse

# Tables of a handful of rows: what Spark plans, compiles and shuffles costs more than what it computes.
QUICK = {
    # It runs for hours: the optimising compiler, off in the other suites, takes a quarter off a step.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with pytest.MonkeyPatch.context() as patch:
        house = Lakehouse(tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("state"), 1)
        marks = tmp_path_factory.mktemp("marks")
        house.write_project(worlds.entities(), worlds.write_models)
        _finish_project(house)
        patch.setenv(settings.STATE_VARIABLE, str(house.state))
        patch.setenv(transient_faults.MARKS, str(marks))
        patch.setenv(
            "PYTHONPATH",
            os.pathsep.join([str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]),
        )
        patch.chdir(house.project)
        switch = killing.KillSwitch()
        killing.install(switch, patch)
        made = Ground(house, marks, switch)
        made.reset(worlds.WORLDS)
        house.dbt("seed")
        # The audit of changes would ask for a run of its own before every forget.
        house.dbt("run", "--exclude", "changes")
        yield made
        from dbt.adapters.sedona import session

        session.stop()


def _finish_project(house: Lakehouse) -> None:
    for path in (house.project / "models/ops").iterdir():
        if path.suffix == ".sql" and path.stem not in (*OPS, "quarantine", "row_ledger"):
            path.unlink()
    for path in (house.project / "models/ops").glob("*.yml"):
        path.unlink()
    project = house.project / "dbt_project.yml"
    declared = yaml.safe_load(project.read_text())
    declared["models"]["geostrata"]["gold"]["+contract"] = {"enforced": False}
    declared["models"]["geostrata"]["gold"]["+access"] = "protected"
    project.write_text(yaml.safe_dump(declared))
    profiles = house.project / "profiles/profiles.yml"
    content = yaml.safe_load(profiles.read_text())
    local = content["geostrata"]["outputs"]["local"]
    local["spark_config"] = QUICK
    # Over hours the heap grows to whatever it may.
    local["driver_memory"] = "2g"
    local["threads"] = int(os.environ.get("MODEL_THREADS", "4"))
    local["python_preload"] = [*local["python_preload"], "transient_faults"]
    profiles.write_text(yaml.safe_dump(content))
    extents = house.project / "seeds/extents.csv"
    header, *rows = extents.read_text().splitlines()
    (town,) = (row for row in rows if row.startswith("town,"))
    more = [town.replace("town,", f"{world},", 1) for world in worlds.WORLDS]
    extents.write_text("\n".join([header, *rows, *more]) + "\n")
