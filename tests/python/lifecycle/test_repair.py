"""`geostrata repair` on real tables, with real Spark: dry runs change nothing, what is done is what was shown, and can be undone."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from lifecycle_bench import LifecycleBench
from maintain_bench import SharedEngine
from workbench import ROOT

from geostrata import cli
from geostrata.repairs import applying, command

RAW = """
{{{{ config(materialized='incremental', schema='bronze', incremental_strategy='append',
    tblproperties={{'delta.appendOnly': 'true', 'delta.enableChangeDataFeed': 'true'}}) }}}}
{{% do adapter.note_change('files', true) %}}
select
    cast(id as string) as event_id,
    date_add(date'2026-03-01', cast(id % 3 as int)) as event_date,
    cast(id as double) as speed_mps,
    encode('wkb', 'utf-8') as geometry,
    named_struct('xmin', id / 10d, 'ymin', 50d, 'xmax', id / 10d, 'ymax', 50d) as bbox,
    cast(date_add(date'2026-03-01', cast(id % 3 as int)) as timestamp) as event_ts
from range({start}, {end})
"""
EVENTS = """
{{ config(materialized='incremental', schema='silver', incremental_strategy='merge', unique_key='event_id',
    tblproperties={'delta.enableChangeDataFeed': 'true'}) }}
select * from {{ new_rows(ref('raw_telemetry')) }}
"""
# Reads the change feed.
SPEEDS = """
{{ config(materialized='incremental', schema='gold', incremental_strategy='merge', unique_key='event_id') }}
select event_id, speed_mps from {{ new_rows(ref('telemetry')) }}
"""
# A model's own SQL, read from the start; and one that could have partitions.
GUIDE_MODELS = {
    "telemetry_again": """
{{ config(materialized='table', schema='silver') }}
select * from {{ ref('raw_telemetry') }}
""",
    "zone_activity_daily": """
{{ config(materialized='table', schema='gold') }}
select event_date, count(*) as event_count from {{ ref('telemetry') }} group by event_date
""",
}
A_DAY = "event_date = date'2026-03-02'"


@pytest.fixture(scope="module")
def log(bench: LifecycleBench) -> None:
    """The log of repairs."""
    bench.write_log("repair_log")
    succeed(bench, "run", "--select", "repair_log")


@pytest.fixture
def town(bench: LifecycleBench, log: None, monkeypatch: pytest.MonkeyPatch) -> LifecycleBench:
    """30 events of three days, in bronze and silver, new for each test."""
    bench.write({"raw_telemetry": RAW.format(start=0, end=30), "telemetry": EVENTS, "event_speeds": SPEEDS})
    succeed(bench, "run", "--select", "raw_telemetry", "telemetry", "--full-refresh")
    monkeypatch.setattr(command, "open_engine", lambda target, with_catalog: SharedEngine())
    return bench


@pytest.fixture
def speeds(town: LifecycleBench) -> None:
    """What is built from the events."""
    succeed(town, "run", "--select", "event_speeds", "--full-refresh")


def succeed(bench: LifecycleBench, *arguments: str) -> None:
    outcome, lines = bench.dbt(*arguments)
    assert outcome.success, lines


def path_of(bench: LifecycleBench, name: str) -> Path:
    schema, table = name.split(".")
    return bench.state / "warehouse" / f"{schema}.db" / table


def content(bench: LifecycleBench, name: str = "silver.telemetry") -> list[tuple[Any, ...]]:
    """Read by another engine."""
    rows = DeltaTable(path_of(bench, name)).to_pyarrow_table(columns=["event_id", "event_date", "speed_mps"])
    return sorted(tuple(row.values()) for row in rows.to_pylist())


def version(bench: LifecycleBench, name: str = "silver.telemetry") -> int:
    return DeltaTable(path_of(bench, name)).version()


def execute(*statements: str) -> None:
    handle = SharedEngine().handle()
    for statement in statements:
        handle.execute(statement)
        handle.fetchall()


def said(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capfd.readouterr()
    got = cli.main(["repair", *arguments])
    out, err = capfd.readouterr()
    assert got == code, out + err
    assert "Traceback" not in out + err
    return out if code == 0 else err.split("geostrata: ", 1)[1]


def shown_version(shown: str) -> int:
    found = re.search(r"To do it, add: --version (\d+) --apply", shown)
    assert found, shown
    return int(found[1])


def undo(capfd: pytest.CaptureFixture[str], table: str, reason: str) -> None:
    """As a person does it: looked at, then done."""
    just = shown_version(said(capfd, "undo", table))
    said(capfd, "undo", table, "--version", str(just), "--apply", "--reason", reason)


def repairs(bench: LifecycleBench) -> list[dict[str, Any]]:
    rows = DeltaTable(path_of(bench, "ops.repair_log")).to_pyarrow_table().to_pylist()
    # Tests of forgetting plant a row in every log.
    return sorted((row for row in rows if row["started_at"]), key=lambda row: row["started_at"])


def commit_note(bench: LifecycleBench, name: str = "silver.telemetry") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DeltaTable(path_of(bench, name)).history(1)[0]["userMetadata"])
    return found


def test_a_delete_is_shown_done_written_down_and_restored(
    town: LifecycleBench, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stored, before, logged = content(town), version(town), len(repairs(town))
    drawn = tmp_path / "where.svg"
    shown = said(capfd, "delete", "telemetry", "--where", A_DAY, "--map", str(drawn))
    assert "rows    10 removed, 0 added; 30 in the table now" in shown
    assert "keys    10 removed, 0 added, 0 changed (event_id)" in shown
    assert "where   0.10000, 50.00000 to 2.80000, 50.00000" in shown
    assert "Built from it: event_speeds" in shown
    assert "Nothing was changed." in shown
    dots = [group for group in ET.fromstring(drawn.read_text()).iter() if group.get("class") == "removed"]  # noqa: S314
    assert len(dots[0]) == 10
    # Dry is dry.
    assert (version(town), content(town), len(repairs(town))) == (before, stored, logged)

    done = said(capfd, "delete", "telemetry", "--where", A_DAY, "--apply", "--reason", "a trial's day")
    assert f"Done. silver.telemetry is at version {before + 1}." in done
    assert content(town) == [row for row in stored if str(row[1]) != "2026-03-02"]
    row = repairs(town)[-1]
    assert (row["action_kind"], row["reason"], row["status"]) == ("delete", "a trial's day", "done")
    assert (row["rows_removed"], row["keys_removed"], row["keys_changed"]) == (10, 10, 0)
    assert (row["version_before"], row["version_after"]) == (before, before + 1)
    note = commit_note(town)["geostrata_repair"]
    assert note == {"id": row["repair_id"], "kind": "delete", "reason": "a trial's day"}

    # By the command that it named.
    assert f"To take it back: {row['undo_command']}" in done
    _, _, *back = shlex.split(row["undo_command"])
    shown = said(capfd, *back)
    assert "rows    0 removed, 10 added; 20 in the table now" in shown
    assert len(content(town)) == 20
    said(capfd, *back, "--apply", "--reason", "it was none")
    assert content(town) == stored
    assert "Nothing to do" in said(capfd, *back, "--apply", "--reason", "once more")
    assert version(town) == before + 2


def test_a_corrupted_day_is_repaired_from_bronze(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str]
) -> None:
    stored = content(town)
    execute(
        f"update silver.telemetry set speed_mps = -1 where {A_DAY} and event_id <> '1'",
        "delete from silver.telemetry where event_id = '4'",
        "insert into silver.telemetry select 'ghost', event_date, speed_mps, geometry, bbox, event_ts from silver.telemetry "
        "where event_id = '7'",
    )
    corrupted, before = content(town), version(town)
    replace = ["replace", "silver.telemetry", "--where", A_DAY, "--from", "bronze.raw_telemetry"]
    # Rows of other days would be added beside what is there.
    refused = said(capfd, *replace, code=2)
    assert "20 rows of the source do not meet the condition" in refused
    assert "--only-matching" in refused
    shown = said(capfd, *replace, "--only-matching")
    assert "keys    1 removed, 1 added, 8 changed (event_id)" in shown
    assert "rows    9 removed, 9 added; 30 in the table now" in shown
    assert "source  20 rows do not meet the condition and are left out" in shown
    assert re.search(r"changed, for example\n    10: speed_mps -1 -> 10\n", shown)
    assert re.search(r"removed, for example\n    ghost\n", shown)
    assert (content(town), version(town)) == (corrupted, before)

    said(capfd, *replace, "--only-matching", "--apply", "--reason", "sensor fault of 2 March")
    assert content(town) == stored
    assert version(town) == before + 1
    # An earlier version of itself serves as well, and holds other days by its nature.
    execute(f"update silver.telemetry set speed_mps = -2 where {A_DAY}")
    again = ["replace", "silver.telemetry", "--where", A_DAY, "--from", f"version:{before + 1}"]
    found = json.loads(said(capfd, *again, "--json"))
    assert (found["keys_changed"], found["is_done"]) == (10, False)
    found = json.loads(said(capfd, *again, "--json", "--apply", "--reason", "again"))
    assert (found["is_done"], found["version_after"]) == (True, before + 3)
    assert content(town) == stored


def test_undo_takes_back_the_last_change_and_itself(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str]
) -> None:
    stored = content(town)
    execute("update silver.telemetry set speed_mps = 0 where event_id = '3'", "optimize silver.telemetry")
    changed, before = content(town), version(town)
    shown = said(capfd, "undo", "telemetry")
    assert re.search(r"undo version \d+ \(UPDATE, ", shown)
    assert "keys    0 removed, 0 added, 1 changed" in shown
    assert "    3: speed_mps 0 -> 3" in shown
    assert version(town) == before
    undo(capfd, "telemetry", "wrong device")
    assert content(town) == stored
    undo(capfd, "telemetry", "it was right")
    assert content(town) == changed


def test_undo_takes_back_the_commit_that_was_shown_or_none(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer commits after the look: tried again as it was told, the undo must not take that commit for the one it was shown."""
    execute("update silver.telemetry set speed_mps = 0 where event_id = '3'")
    wrong = version(town)
    just = shown_version(said(capfd, "undo", "telemetry"))
    assert just == wrong
    look, others = command._look, ["update silver.telemetry set speed_mps = 99 where event_id = '5'"]

    def slow(handle: Any, repair: Any) -> Any:
        seen = look(handle, repair)
        while others:
            execute(others.pop())
        return seen

    monkeypatch.setattr(command, "_look", slow)
    call = ["undo", "telemetry", "--version", str(just), "--apply", "--reason", "wrong device"]
    assert "another writer committed meanwhile" in said(capfd, *call, code=2)
    kept = content(town)
    assert ("5", 99.0) in [(row[0], row[2]) for row in kept]
    refused = said(capfd, *call, code=2)
    assert f"version {just} is not its last change: that is version {just + 1} (UPDATE" in refused
    assert "undo --apply needs --version N" in said(
        capfd, "undo", "telemetry", "--apply", "--reason", "wrong device", code=2
    )
    assert (content(town), version(town)) == (kept, just + 1)
    # Compaction changes no rows, and is no reason to refuse.
    undo(capfd, "telemetry", "the other was wrong too")
    execute("optimize silver.telemetry")
    assert "is at version" in said(capfd, "undo", "telemetry", *call[2:3], str(just + 2), *call[4:])
    assert content(town) == kept


def test_what_a_restore_takes_away_is_loaded_again_by_dbt(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every landed row is accounted for: the load is undone together with the note that it was made."""
    before = version(town)
    town.write({"raw_telemetry": RAW.format(start=30, end=40)})
    outcome, lines = town.dbt("run", "--select", "raw_telemetry", "telemetry")
    assert outcome.success, lines
    loaded = content(town)
    assert len(loaded) == 40
    said(capfd, "restore", "telemetry", "--to-version", str(before), "--apply", "--reason", "bad load")
    assert len(content(town)) == 30
    outcome, lines = town.dbt("run", "--select", "telemetry")
    assert outcome.success, lines
    assert content(town) == loaded


def test_restore_to_a_time(town: LifecycleBench, capfd: pytest.CaptureFixture[str]) -> None:
    stored, path = content(town), path_of(town, "silver.telemetry")
    newest = DeltaTable(path).history(1)[0]["timestamp"]
    execute("delete from silver.telemetry")
    moment = pa.scalar(newest, pa.timestamp("ms", "UTC")).as_py().isoformat()
    said(capfd, "restore", str(path), "--to-time", moment, "--apply", "--reason", "all was gone")
    assert content(town) == stored


def test_a_table_is_dropped_only_with_a_backup_and_comes_back(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str]
) -> None:
    stored, before = content(town), version(town)
    backup = f"silver.telemetry_version_{before}"
    drop = ["drop", "silver.telemetry", "--confirm", "silver.telemetry"]
    assert "is the only copy of its rows" in said(capfd, *drop, code=2)
    assert f"copy version {before} to {backup}" in said(capfd, "clone", "telemetry")
    assert not path_of(town, backup).exists()
    done = said(capfd, "clone", "telemetry", "--apply", "--reason", "before the move")
    assert content(town, backup) == stored
    copied = DeltaTable(path_of(town, backup))
    # Files of its own, and all that is said of the table.
    assert all(Path(unquote(uri)).is_relative_to(path_of(town, backup)) for uri in copied.file_uris())
    assert (
        copied.metadata().configuration
        == DeltaTable(path_of(town, "silver.telemetry")).metadata().configuration
    )
    # SQL knows it by name.
    handle = SharedEngine().handle()
    handle.execute(f"select count(*) from {backup}")
    assert handle.fetchall()[0][0] == 30
    assert f"To take it back: geostrata repair drop {backup} --confirm" in done

    # A backup that was changed since is none.
    execute(f"update {backup} set speed_mps = 0 where event_id = '1'")
    assert "the backup does not hold the same: 1 rows are missing, 1 are others" in said(capfd, *drop, code=2)
    undo(capfd, backup, "a slip")
    assert f"{backup} holds the same rows" in said(capfd, *drop)
    assert version(town) == before
    done = said(capfd, *drop, "--apply", "--reason", "to be made anew")
    assert not path_of(town, "silver.telemetry").exists()
    row = repairs(town)[-1]
    assert (row["action_kind"], row["version_after"]) == ("drop", None)
    handle.execute("show tables in silver like 'telemetry'")
    assert handle.fetchall() == []

    _, _, *back = shlex.split(row["undo_command"])
    said(capfd, *back, "--apply", "--reason", "it is needed after all")
    assert content(town) == stored
    outcome, lines = town.dbt("run", "--select", "telemetry")
    assert outcome.success, lines
    assert content(town) == stored
    # Now the backup may go: what was copied from it holds the same.
    said(capfd, "drop", backup, "--confirm", backup, "--apply", "--reason", "no longer needed")
    assert not path_of(town, backup).exists()
    # Its first version was still that of the backup.
    told = said(capfd, "restore", "silver.telemetry", "--to-version", "0", code=2)
    assert (
        "version 0 can't be read any more: it was copied from a table that is gone; the oldest that is whole"
        in told
    )
    # The next test begins with a table that has no such past. What came back lies at a place that was named: its files stay.
    execute("drop table silver.telemetry")
    shutil.rmtree(path_of(town, "silver.telemetry"))


@pytest.mark.usefixtures("speeds")
def test_migration_keeps_rows_properties_and_readers(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str]
) -> None:
    stored, before = content(town), version(town)
    path = path_of(town, "silver.telemetry")
    kept = DeltaTable(path).metadata().configuration
    reader = DeltaTable(path)
    migrate = ["migrate", "telemetry", "--partition-by", "event_date"]
    shown = said(capfd, *migrate)
    assert "rows    30, none of them changed" in shown
    assert version(town) == before
    said(capfd, *migrate, "--apply", "--reason", "queries ask by day")
    after = DeltaTable(path)
    assert after.metadata().partition_columns == ["event_date"]
    # Delta keeps no statistics of partition columns; all else stays.
    statistics = "delta.dataSkippingStatsColumns"
    now = after.metadata().configuration
    assert "event_date" in kept[statistics].split(",")
    assert "event_date" not in now[statistics].split(",")
    assert {**now, statistics: ""} == {**kept, statistics: ""}
    assert content(town) == stored
    # Rows change hands in one commit, after that of the property: who had begun to read goes on. Nothing is left beside.
    assert version(town) == before + 2
    assert reader.to_pyarrow_table().num_rows == 30
    assert not path.with_name("telemetry_migrating").exists()
    assert "is laid out by event_date already" in said(capfd, *migrate, code=2)
    # Who reads the change feed goes on; dbt stops at a model that says otherwise, and goes on where it says the same.
    outcome, lines = town.dbt("run", "--select", "event_speeds")
    assert outcome.success, lines
    outcome, lines = town.dbt("run", "--select", "telemetry")
    assert not outcome.success
    partitioned = "unique_key='event_id', partition_by='event_date', layout={'min_partition_size': '1b'}"
    town.write({"telemetry": EVENTS.replace("unique_key='event_id'", partitioned)})
    town.write({"raw_telemetry": RAW.format(start=30, end=33)})
    outcome, lines = town.dbt("run", "--select", "raw_telemetry", "telemetry", "event_speeds")
    assert outcome.success, lines
    assert len(content(town)) == 33
    said(
        capfd,
        "restore",
        "telemetry",
        "--to-version",
        str(before + 2),
        "--apply",
        "--reason",
        "thirty are enough",
    )

    row = next(row for row in reversed(repairs(town)) if row["action_kind"] == "migrate")
    assert row["undo_command"] == f"geostrata repair restore silver.telemetry --to-version {before}"
    _, _, *back = shlex.split(row["undo_command"])
    shown = said(capfd, *back)
    assert "rows    0 removed, 0 added; 30 in the table now" in shown
    assert "table   partitioned by nothing instead of event_date" in shown
    said(capfd, *back, "--apply", "--reason", "it was slower")
    assert DeltaTable(path).metadata().partition_columns == []
    assert DeltaTable(path).metadata().configuration == kept
    assert content(town) == stored


def test_a_table_is_clustered_and_that_is_undone_as_a_whole(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str]
) -> None:
    def layout() -> tuple[list[str], list[str]]:
        handle = SharedEngine().handle()
        handle.execute("describe detail silver.telemetry")
        detail = handle.fetchall()[0]
        return detail["partitionColumns"], detail["clusteringColumns"]

    stored, before = content(town), version(town)
    said(capfd, "migrate", "telemetry", "--partition-by", "event_date", "--apply", "--reason", "by day")
    clustered = ["migrate", "telemetry", "--cluster-by", "event_id,bbox.xmin"]
    assert "ZORDER is never possible again" in said(capfd, *clustered)
    said(capfd, *clustered, "--apply", "--reason", "queries ask by device")
    assert (content(town), layout()) == (stored, ([], ["event_id", "bbox.xmin"]))
    refused = said(capfd, "migrate", "telemetry", "--partition-by", "event_date", code=2)
    assert "take that away first" in refused
    assert commit_note(town)["geostrata_repair"]["reason"] == "queries ask by device"
    undo(capfd, "telemetry", "by day was right")
    assert (content(town), layout()) == (stored, (["event_date"], []))
    said(capfd, "restore", "telemetry", "--to-version", str(before), "--apply", "--reason", "all of it")
    assert (content(town), layout()) == (stored, ([], []))


def test_who_was_faster_is_not_written_over(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer commits between what is shown and what is done."""
    look = command._look

    def slow(handle: Any, repair: Any) -> Any:
        seen = look(handle, repair)
        execute("update silver.telemetry set speed_mps = 99 where event_id = '5'")
        return seen

    monkeypatch.setattr(command, "_look", slow)
    before = version(town)
    told = said(capfd, "delete", "telemetry", "--where", "true", "--apply", "--reason", "trial", code=2)
    assert "another writer committed meanwhile" in told
    assert version(town) == before + 1
    assert len(content(town)) == 30
    row = repairs(town)[-1]
    assert (row["status"], row["undo_command"]) == (applying.FAILED, None)


def test_a_commit_of_the_same_moment_is_not_lost(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer commits after the last look and before the repair's own commit: a restore would take that away."""
    check, looks = applying._Work._check_unchanged, []

    def slow(work: Any) -> None:
        check(work)
        looks.append(work)
        if len(looks) in (1, 3):
            execute("update silver.telemetry set speed_mps = 99 where event_id = '5'")

    execute(f"delete from silver.telemetry where {A_DAY}")
    before = version(town)
    monkeypatch.setattr(applying._Work, "_check_unchanged", slow)
    back = ["restore", "telemetry", "--to-version", str(before - 1), "--apply", "--reason", "trial"]
    told = said(capfd, *back, code=2)
    assert f"another writer committed in the same moment. The table is as in version {before + 1}" in told
    assert len(content(town)) == 20
    assert ("5", 99.0) in [(row[0], row[2]) for row in content(town)]
    row = repairs(town)[-1]
    assert (row["status"], row["version_after"]) == (applying.FAILED, before + 3)

    # A migration, which looks twice, would take it away as well.
    migrate = ["migrate", "telemetry", "--partition-by", "event_date", "--apply", "--reason", "trial"]
    stored = content(town)
    execute("update silver.telemetry set speed_mps = 5 where event_id = '5'")
    assert "the rows are not the same: 1 rows are missing, 1 are others" in said(capfd, *migrate, code=2)
    assert content(town) == stored
    assert DeltaTable(path_of(town, "silver.telemetry")).metadata().partition_columns == []


def test_a_table_that_only_its_path_names(
    town: LifecycleBench, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a folder/it's a table"
    write_deltalake(
        path,
        pa.table({"a": [1, 2, 3], "is_late": [True, False, False]}),
        configuration={"delta.appendOnly": "true"},
    )
    done = said(capfd, "clone", str(path), "--apply", "--reason", "to be sure")
    backup = path.with_name("it's a table_version_0")
    assert DeltaTable(backup).to_pyarrow_table().num_rows == 3
    assert DeltaTable(backup).metadata().configuration["delta.appendOnly"] == "true"
    assert shlex.split(done.rsplit("To take it back: ", 1)[1]) == [
        *("geostrata", "repair", "drop", str(backup), "--confirm", backup.name)
    ]
    done = said(capfd, "drop", str(path), "--confirm", path.name, "--apply", "--reason", "made anew")
    assert not path.exists()
    _, _, *back = shlex.split(done.rsplit("To take it back: ", 1)[1])
    said(capfd, *back, "--apply", "--reason", "it is needed")
    assert DeltaTable(path).to_pyarrow_table().num_rows == 3

    # A condition may be the name of a column.
    write_deltalake(backup, pa.table({"a": [4], "is_late": [True]}), mode="append")
    handle = SharedEngine().handle()
    handle.execute(f"alter table delta.`{backup}` set tblproperties ('delta.appendOnly' = 'false')")
    said(capfd, "delete", str(backup), "--where", "is_late", "--apply", "--reason", "too late")
    assert sorted(DeltaTable(backup).to_pyarrow_table()["a"].to_pylist()) == [2, 3]
    write_deltalake(tmp_path / "other", pa.table({"a": [1.5], "is_late": [True]}))
    refused = said(
        capfd, "replace", str(backup), "--where", "is_late", "--from", str(tmp_path / "other"), code=2
    )
    assert "a is bigint here and double in the source" in refused


def test_in_a_process_of_its_own(town: LifecycleBench) -> None:
    """As a person calls it: by path beside a session that holds the metastore, and not where that is needed."""

    def called(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "geostrata.cli", "repair", *arguments]
        done = subprocess.run(command, cwd=town.project, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, err = called("clone", "telemetry", "--apply", "--reason", "trial")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "clone and drop need the metastore, which is in use by process" in err
    code, out, err = called("delete", "telemetry", "--where", A_DAY, "--apply", "--reason", "trial")
    assert (code, err) == (0, "")
    assert "Done. silver.telemetry is at version" in out
    assert len(content(town)) == 20


@pytest.mark.parametrize(
    ("where", "reason"),
    [("speeed > 1", "UNRESOLVED_COLUMN"), ("speed_mps >", "PARSE_SYNTAX_ERROR")],
)
def test_a_condition_that_is_none(
    town: LifecycleBench, capfd: pytest.CaptureFixture[str], where: str, reason: str
) -> None:
    told = said(capfd, "delete", "telemetry", "--where", where, code=2)
    assert told.startswith("silver.telemetry: delete is not possible: ")
    assert reason in told
    assert told.count("\n") == 1


def test_the_same_as_a_dbt_operation(town: LifecycleBench) -> None:
    before = version(town)
    call = {"command": f'delete telemetry --where "{A_DAY}"'}
    outcome, lines = town.dbt("run-operation", "repair", "--args", json.dumps(call))
    assert outcome.success, lines
    assert "10 removed, 0 added" in "\n".join(lines)
    assert version(town) == before
    call["command"] += " --apply --reason 'by dbt'"
    outcome, lines = town.dbt("run-operation", "repair", "--args", json.dumps(call))
    assert outcome.success, lines
    assert len(content(town)) == 20
    outcome, lines = town.dbt("run-operation", "repair", "--args", "{command: undoo telemetry}")
    assert not outcome.success
    assert "invalid choice: 'undoo'" in "\n".join(lines)


@pytest.mark.usefixtures("speeds")
def test_every_command_of_the_guide(town: LifecycleBench, capfd: pytest.CaptureFixture[str]) -> None:
    guide = (ROOT / "docs/repair.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", guide, re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert len(lines) >= 15
    town.write(GUIDE_MODELS)
    try:
        outcome, told = town.dbt("run", "--select", "zone_activity_daily")
        assert outcome.success, told
        execute(
            "update silver.telemetry set speed_mps = -1 where event_id in ('4', '7')",
            "delete from silver.telemetry where event_id = '10'",
            "update silver.telemetry set speed_mps = 0 where event_id = '3'",
        )
        printed = [_of_the_guide(town, line, capfd) for line in lines]
    finally:
        town.forget(GUIDE_MODELS)
    shown = re.findall(r"```text\n(.*?)```", guide, re.DOTALL)
    assert len(shown) == 2
    for text in shown:
        assert _without_chance(text) in [_without_chance(found) for found in printed], printed


def _of_the_guide(town: LifecycleBench, line: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    program, *arguments = line
    if program == "dbt":
        outcome, told = town.dbt(*arguments)
        assert outcome.success, told
        return ""
    assert program == "geostrata"
    if "undo" in arguments and "--version" in arguments:
        arguments[arguments.index("--version") + 1] = str(version(town))
    return said(capfd, *(argument.replace(".geostrata", str(town.state)) for argument in arguments[1:]))


def _without_chance(text: str) -> str:
    """Versions, times and sizes differ from run to run."""
    text = re.sub(r"ersion \d+", "ersion N", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", text)
    return re.sub(r"\([\d.]+ k?B\)", "(SIZE)", text)
