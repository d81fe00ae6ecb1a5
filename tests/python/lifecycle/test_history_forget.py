"""A parcel is forgotten in the whole project, built from landed files: gone from every table, and from every file after VACUUM."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import shapely
import yaml
from deltalake import DeltaTable
from lifecycle_bench import LifecycleBench
from workbench import ROOT

from geostrata import dbt_calls, demo
from geostrata.errors import GeostrataError
from geostrata.history import removal

COPIED = (
    "macros",
    "models",
    "seeds",
    "snapshots",
    "tests/generic",
    "tests/singular",
    "docs/blocks",
    "profiles",
)
ENTITIES = ("parcels",)
OTHERS = {
    "bronze": ("raw_facilities", "raw_telemetry", "raw_zones"),
    "silver": ("facilities", "telemetry", "zones"),
    "gold": (
        "device_trips",
        "nearest_facility",
        "parcel_activity_daily",
        "telemetry_by_cell",
        "zone_activity_daily",
        "zone_summary",
    ),
}
GOLD = """
{{ config(incremental_strategy='merge', unique_key='parcel_id', contract={'enforced': false}) }}
select parcel_id, assessed_value from {{ new_rows(ref('parcels')) }}
"""
BUILT = ("+parcel_values", "parcels_history", "changes", "forget_log", "quarantine", "row_ledger")


class Project:
    """This project, with one of its entities, in the suite's own session."""

    def __init__(self, bench: LifecycleBench, folder: Path) -> None:
        self.bench, self.folder = bench, folder
        self.also: tuple[str, ...] = ()
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name)
        for layer, names in OTHERS.items():
            for name in names:
                for file in (folder / "models" / layer).glob(f"{name}*.sql"):
                    file.unlink()
        (folder / "models/gold/parcel_values.sql").write_text(GOLD)
        # It rests on gold of the other entities.
        (folder / "models" / "_exposures.yml").unlink()
        self.settings = yaml.safe_load((ROOT / "dbt_project.yml").read_text())
        facts = self.settings["vars"]["entities"]
        self.settings["vars"]["entities"] = {name: facts[name] for name in ENTITIES}
        self.write()

    def write(self) -> None:
        (self.folder / "dbt_project.yml").write_text(yaml.safe_dump(self.settings, sort_keys=False))

    def land(self, days: int) -> None:
        demo.generate(self.bench.state / "landing", scale=0.01, seed=7, days=days)

    def build(self, *arguments: str) -> None:
        self.dbt(
            "build",
            "--select",
            *BUILT,
            *self.also,
            *arguments,
            "--exclude-resource-type",
            "test",
            "--exclude-resource-type",
            "unit_test",
        )

    def dbt(self, *arguments: str) -> str:
        outcome, lines = self.bench.dbt(*arguments)
        assert outcome.success, (dbt_calls.first_line(outcome), lines)
        return "\n".join(lines)

    def operation(self, name: str, **arguments: Any) -> str:
        return self.dbt("run-operation", name, "--args", json.dumps(arguments))

    def refusal(self, name: str, **arguments: Any) -> str:
        outcome, lines = self.bench.dbt("run-operation", name, "--args", json.dumps(arguments))
        assert not outcome.success
        return " ".join(" ".join(lines).split())

    def path(self, name: str) -> Path:
        schema, table = name.split(".")
        return self.bench.state / "warehouse" / f"{schema}.db" / table

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Read by another engine."""
        found: list[dict[str, Any]] = DeltaTable(self.path(name)).to_pyarrow_table().to_pylist()
        return found

    def tables(self) -> dict[str, Path]:
        logs = (self.bench.state / "warehouse").glob("*.db/*/_delta_log")
        return {f"{log.parent.parent.name.removesuffix('.db')}.{log.parent.name}": log.parent for log in logs}

    def ledger(self) -> dict[str, dict[str, int]]:
        rows = self.bench.spark().table("ops.row_ledger").collect()
        return {row["entity"]: {name: row[name] for name in row.asDict() if name != "entity"} for row in rows}


@pytest.fixture(scope="module")
def project(bench: LifecycleBench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("whole project")
    made = Project(bench, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for days in (1, 3):
            made.land(days)
            made.build()
        yield made


def test_every_command_of_the_guide(project: Project) -> None:
    guide = (ROOT / "docs/history.md").read_text()
    models = dict(re.findall(r"```sql (models/ops/\w+\.sql)\n(.*?)```", guide, re.DOTALL))
    assert len(models) == 2
    for name, sql in models.items():
        (project.folder / name).write_text(sql)
    commands = [
        line for block in re.findall(r"```sh\n(.*?)```", guide, re.DOTALL) for line in block.splitlines()
    ]
    assert len(commands) >= 8
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "dbt"
        said = project.dbt(*arguments)
        assert "forget" not in arguments or re.search("parcels, by parcel_id:|nothing is held", said)
    kinds = {row["kind"] for row in project.rows("ops.parcel_differences")}
    assert kinds <= {"added", "removed", "moved", "reshaped", "attribute changed"}
    for name in models:
        (project.folder / name).unlink()


def files_with(folder: Path, needles: list[bytes]) -> list[str]:
    """Files that hold one of them, as bytes or as a value of a column. Parquet's pages are compressed: they are decoded."""
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        if file.suffix == ".parquet":
            content += repr(pq.read_table(file, partitioning=None).to_pylist()).encode()
        if any(needle in content or repr(needle)[2:-1].encode() in content for needle in needles):
            found.append(str(file.relative_to(folder)))
    return found


def held_by(project: Project, key: str) -> dict[str, int]:
    """Rows under a key, counted without Spark."""
    columns = {"ops.changes": "entity_key"}
    found = {}
    for name in project.tables():
        if name.startswith("tried."):
            continue
        column = columns.get(name, "parcel_id")
        count = sum(row.get(column) == key for row in project.rows(name))
        if count:
            found[name] = count
    return found


def some_key(project: Project) -> str:
    """A parcel of several versions, of which no log speaks: statistics name the least and the greatest key of a file."""
    logs = b"".join(
        file.read_bytes() for file in (project.bench.state / "warehouse").rglob("_delta_log/*.json")
    )
    versions: dict[str, int] = {}
    for row in project.rows("silver.parcels_checked"):
        versions[row["parcel_id"]] = versions.get(row["parcel_id"], 0) + 1
    now = {row["parcel_id"] for row in project.rows("silver.parcels")}
    fitting = [
        key for key, count in versions.items() if count > 1 and key in now and key.encode() not in logs
    ]
    return sorted(fitting)[0]


def test_a_key_is_forgotten_in_every_layer(project: Project) -> None:
    key = some_key(project)
    held = held_by(project, key)
    assert {name.split(".")[0] for name in held} == {"bronze", "silver", "gold", "history", "ops"}
    rows = [row for row in project.rows("silver.parcels_checked") if row["parcel_id"] == key]
    shapes = [row["geometry"] for row in rows if row["geometry"]]
    needles = [key.encode(), *shapes]
    before, already_emptied = project.ledger(), emptied(project)
    versions = {name: DeltaTable(path).version() for name, path in project.tables().items()}

    assert "has no column colour; there are parcel_id" in project.refusal(
        "forget", entity="parcels", key=key, reason="17", column="colour"
    )
    shown = project.operation("forget", entity="parcels", key=key, reason="request 4")
    told = {
        line.split(":")[0].strip(): int(line.split()[1])
        for line in shown.splitlines()
        if " row" in line[2:] and line.startswith("  ")
    }
    assert told == held
    # Of the guide; their models are gone.
    strays = {name for name in told if name.startswith("ops.parcel_")}
    assert strays
    for name in strays:
        assert re.search(rf"{name}: \d+ rows? stay in a table that no model makes", shown)
        project.bench.spark().sql(f"drop table {name}")
        del held[name]
    assert "Nothing was changed" in shown
    files = {row["_source_file"] for row in rows}
    assert all(file in shown for file in files)
    now = {name: DeltaTable(path).version() for name, path in project.tables().items()}
    assert now == {name: version for name, version in versions.items() if name not in strays}

    # It dies half-way, after a bronze table; called again it does the rest.
    died_at = next(name for name in held if name.startswith("bronze."))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(removal, "_record", dying_at(died_at))
        assert "killed" in project.refusal(
            "forget", entity="parcels", key=key, reason="request 4", apply=True
        )
    assert held_by(project, key)
    done = project.operation("forget", entity="parcels", key=key, reason="request 4", apply=True)
    assert "Done." in done
    assert held_by(project, key) == {}
    for name in ("bronze.raw_parcels", "bronze.raw_parcels_geojson", "ops.changes"):
        assert DeltaTable(project.path(name)).metadata().configuration["delta.appendOnly"] == "true"
    logged = {
        row["relation_name"]: row["rows_forgotten"]
        for row in project.rows("ops.forget_log")
        if row["reason"] == "request 4"
    }
    assert logged == {name: count for name, count in held.items() if name != died_at}

    # The row is still accounted for, and nothing of it comes back: not from the files, not from a change feed.
    project.build()
    assert held_by(project, key) == {}
    after = project.ledger()
    assert {name: after[name]["landed"] for name in ENTITIES} == {
        name: before[name]["landed"] for name in ENTITIES
    }
    assert all(account["missing"] == account["counted_twice"] == 0 for account in after.values())
    account = after["parcels"]
    assert account["landed"] == account["accepted"] + account["quarantined"] + account["superseded"]
    assert account["accepted"] == before["parcels"]["accepted"] - 1
    assert emptied(project) == already_emptied | {row["_row_id"] for row in rows}
    # Nor when verdicts are passed anew on what bronze holds.
    project.dbt("run", "--select", "parcels_checked", "parcels", "--full-refresh")
    assert held_by(project, key) == {}
    assert project.ledger() == after

    warehouse = project.bench.state / "warehouse"
    assert files_with(warehouse, needles), "earlier versions still hold it"
    vacuum(project)
    assert files_with(warehouse, needles) == []


def emptied(project: Project) -> set[str]:
    """The guide has forgotten a parcel as well."""
    return {row["_row_id"] for row in project.rows("silver.parcels_checked") if is_emptied(row)}


def is_emptied(row: dict[str, Any]) -> bool:
    return (row["landed_value"] or "").startswith("forgotten by request ") and row["parcel_id"] is None


def dying_at(relation: str) -> Any:
    record = removal._record

    def dying(spark: Any, request: Any, request_id: str, step: removal.Step, log: str) -> None:
        if step.table.name == relation:
            raise GeostrataError("killed")
        record(spark, request, request_id, step, log)

    return dying


def vacuum(project: Project) -> None:
    """At once: only a test may do so."""
    spark = project.bench.spark()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        for name, path in project.tables().items():
            if not name.startswith("tried."):
                # By path: Delta takes the schema `history` for a word of its own.
                spark.sql(f"vacuum delta.`{path}` retain 0 hours")
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")


# Versions of parcels in the order of their days: use, whether it is a deletion.
PLANTED = {
    "F-back": [("meadow", False), ("orchard", False)],
    "F-gone": [("orchard", False)],
    "F-past": [("orchard", False), ("meadow", False)],
    "F-undeleted": [("meadow", False), ("orchard", True)],
    "F-twice": [("meadow", False), ("orchard", False), ("orchard", False)],
}
# Built from silver, with neither the column nor the row's id.
LABELS = """
{{ config(incremental_strategy='merge', unique_key='parcel_id', contract={'enforced': false}) }}
select parcel_id, concat(parcel_id, ' ', land_use) as label from {{ new_rows(ref('parcels')) }}
"""
# Of another subject, with a column of the same name.
USES = """
{{ config(materialized='table', contract={'enforced': false}) }}
select explode(array('orchard', 'meadow')) as land_use
"""
FORGOTTEN_BY_USE = ("silver.parcels", "gold.parcel_labels")


def plant(project: Project) -> None:
    """One file per day, so that a version is a row of its own file."""
    days = max(len(versions) for versions in PLANTED.values())
    for day in range(days):
        given = {key: versions[day] for key, versions in PLANTED.items() if day < len(versions)}
        features = [
            {
                "type": "Feature",
                "properties": {
                    "parcel_id": key,
                    "land_use": use,
                    "assessed_value": 1000.0 * number + day,
                    "updated_at": f"2026-02-0{day + 1}T00:00:00Z",
                    "is_deleted": is_deleted,
                    "crs": "EPSG:4326",
                },
                "geometry": shapely.geometry.mapping(
                    shapely.box(16 + number / 100, 48, 16.005 + number / 100, 48.005)
                ),
            }
            for number, key in enumerate(PLANTED)
            if key in given
            for use, is_deleted in [given[key]]
        ]
        file = project.bench.state / f"landing/parcels/geojson/planted_{day}.geojson"
        file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    project.build()


def planted(project: Project, name: str) -> dict[str, Any]:
    return {row["parcel_id"]: row for row in project.rows(name) if str(row["parcel_id"]).startswith("F-")}


def without_run(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What does not differ between two runs over the same."""
    left_out = ("_ingested_at", "_batch_id")
    return sorted(
        ({name: value for name, value in row.items() if name not in left_out} for row in rows), key=repr
    )


def logs(project: Project) -> dict[str, list[dict[str, Any]]]:
    folder = ROOT / "models/ops/logs"
    return {f"ops.{file.stem}": project.rows(f"ops.{file.stem}") for file in folder.glob("*.sql")}


def test_what_is_forgotten_by_any_column_is_gone_and_the_rest_is_as_if_it_had_never_landed(
    project: Project,
) -> None:
    (project.folder / "models/gold/parcel_labels.sql").write_text(LABELS)
    (project.folder / "models/gold/uses.sql").write_text(USES)
    project.also = ("parcel_labels", "uses", "path:models/ops/logs", "extents")
    plant(project)
    assert planted(project, "silver.parcels").keys() == {"F-back", "F-gone", "F-past", "F-twice"}
    values = {row["land_use"]: row for row in project.rows("gold.uses")}
    project.operation(
        "forget", entity="parcels", key="orchard", column="land_use", reason="request 5", apply=True
    )
    held = [
        (name, row)
        for name in project.tables()
        if not name.startswith("tried.")
        for row in project.rows(name)
        if "orchard" in repr(row) and name != "gold.uses"
    ]
    assert held == []
    # Rows of another subject are none of its.
    assert {row["land_use"]: row for row in project.rows("gold.uses")} == values

    project.build()
    expected = {"F-back": ("meadow", 0.0), "F-past": ("meadow", 2001.0)}
    expected |= {"F-undeleted": ("meadow", 3000.0), "F-twice": ("meadow", 4000.0)}
    found = {
        key: (row["land_use"], row["assessed_value"])
        for key, row in planted(project, "silver.parcels").items()
    }
    assert found == expected
    assert balanced(project)
    # gold.parcel_values never takes rows away: what was deleted on another day is in it until it is refreshed.
    assert planted(project, "gold.parcel_values").keys() == expected.keys()
    kept = {name: without_run(project.rows(name)) for name in FORGOTTEN_BY_USE}
    ledger = project.ledger()

    # The files still hold it, and a full refresh reads them: it comes to the same, and nobody forgets who asked for it.
    planted_rows(project)
    before, versions = logs(project), without_run(project.rows("history.parcels_history"))
    assert all(before.values())
    project.build("--full-refresh")
    project.dbt("seed", "--full-refresh")
    project.dbt("snapshot")
    after = logs(project)
    for name, rows in before.items():
        assert [row for row in rows if row not in after[name]] == [], name
    assert without_run(project.rows("history.parcels_history")) == versions
    assert {name: without_run(project.rows(name)) for name in FORGOTTEN_BY_USE} == kept
    assert project.ledger() == ledger
    assert "orchard" not in repr(project.rows("bronze.raw_parcels_geojson"))


def planted_rows(project: Project) -> None:
    """A row in each log that has none, in whatever columns it has."""
    spark = project.bench.spark()
    for name, rows in logs(project).items():
        if not rows:
            columns = spark.table(name).columns
            spark.sql(f"insert into {name} ({columns[0]}) values ('planted')")


def balanced(project: Project) -> bool:
    return all(
        account["missing"] == account["counted_twice"] == 0
        and account["landed"] == account["accepted"] + account["quarantined"] + account["superseded"]
        for account in project.ledger().values()
    )


def test_rows_that_are_too_old_expire(project: Project) -> None:
    parcels = project.rows("silver.parcels")
    newest = max(row["updated_at"] for row in parcels)
    days = (datetime.now(UTC) - newest).days + 1
    before = datetime.now(UTC) - timedelta(days=days)
    expected = {row["parcel_id"] for row in parcels if row["updated_at"] >= before}
    assert 0 < len(expected) < len(parcels)
    expired = [
        row
        for row in project.rows("silver.parcels_checked")
        if (row["updated_at"] or row["_ingested_at"]) < before and not is_emptied(row)
    ]
    ledger = project.ledger()["parcels"]
    versions = project.rows("history.parcels_history")
    closed = [row for row in versions if row["dbt_valid_to"] and row["dbt_valid_to"] < before]
    assert closed

    project.settings["models"]["geostrata"]["silver"]["parcels"] = {
        "+meta": {"retain_days": days, "retain_by": "updated_at"}
    }
    project.settings["snapshots"]["geostrata"]["parcels_history"] = {
        "+meta": {"retain_days": days, "retain_by": "dbt_valid_to"}
    }
    project.write()
    shown = project.operation("retain")
    assert f"silver.parcels_checked: {len(expired):,} rows emptied" in shown
    assert f"history.parcels_history: {len(closed):,} row" in shown
    assert len(project.rows("silver.parcels")) == len(parcels)
    project.operation("retain", apply=True)
    assert len(project.rows("history.parcels_history")) == len(versions) - len(closed)
    project.dbt("run", "--select", "raw_parcels", "parcels_checked", "parcels")
    assert {row["parcel_id"] for row in project.rows("silver.parcels")} == expected
    after = project.ledger()["parcels"]
    assert (after["landed"], after["missing"], after["counted_twice"]) == (ledger["landed"], 0, 0)
    assert after["accepted"] == len(expected)
