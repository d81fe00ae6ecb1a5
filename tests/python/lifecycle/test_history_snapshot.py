"""The snapshot strategy `content`, by dbt on a real table: a shape written in another way is no new version."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from deltalake import DeltaTable
from history_bench import Parcels, deliver
from lifecycle_bench import LifecycleBench
from workbench import ROOT

from geostrata import dbt_calls


def versions(bench: LifecycleBench) -> dict[str, list[tuple[int, int | None]]]:
    """From which day until which day each version of each parcel counted."""
    read = DeltaTable(bench.state / "warehouse" / "tried.db" / "lots_history").to_pyarrow_table()
    found: dict[str, list[tuple[int, int | None]]] = {}
    for row in read.sort_by("dbt_valid_from").to_pylist():
        until = row["dbt_valid_to"]
        found.setdefault(row["parcel_id"], []).append(
            (row["dbt_valid_from"].timetuple().tm_yday - 1, until and until.timetuple().tm_yday - 1)
        )
    return found


def rows(bench: LifecycleBench) -> list[dict[str, Any]]:
    read = DeltaTable(bench.state / "warehouse" / "tried.db" / "lots_history").to_pyarrow_table()
    found: list[dict[str, Any]] = read.sort_by("dbt_valid_from").to_pylist()
    return found


def periods_of(bench: LifecycleBench) -> dict[str, list[tuple[datetime, datetime | None]]]:
    found: dict[str, list[tuple[datetime, datetime | None]]] = {}
    for row in rows(bench):
        found.setdefault(row["parcel_id"], []).append((row["dbt_valid_from"], row["dbt_valid_to"]))
    return found


def column(bench: LifecycleBench, name: str) -> list[Any]:
    return [row[name] for row in rows(bench)]


def current(bench: LifecycleBench) -> dict[str, float]:
    return {row["parcel_id"]: row["assessed_value"] for row in rows(bench) if row["dbt_valid_to"] is None}


def gone_from(bench: LifecycleBench, key: str) -> None:
    bench.spark().sql(f"delete from tried.lots where parcel_id = '{key}'")


def write_snapshot(file: Path, settings: dict[str, Any]) -> None:
    described = {"snapshots": [{"name": "lots_history", "relation": "ref('lots')", "config": settings}]}
    file.write_text(yaml.safe_dump(described))


def snapshot(bench: LifecycleBench) -> None:
    outcome, _ = bench.dbt("snapshot", "--select", "lots_history")
    assert outcome.success, dbt_calls.first_line(outcome)


def test_versions_are_told_apart_by_what_they_say(bench: LifecycleBench) -> None:
    declared = yaml.safe_load((ROOT / "snapshots/parcels_history.yml").read_text())["snapshots"][0]["config"]
    assert declared["strategy"] == "content"
    settings = {
        **declared,
        "check_cols": ["assessed_value", "geometry"],
        "schema": "tried",
        "file_format": "delta",
    }
    folder = bench.project / "snapshots"
    folder.mkdir(exist_ok=True)
    lots = Parcels.planted(6)
    file = folder / "lots_history.yml"
    try:
        deliver(bench, lots, "lots")
        # A snapshot that was begun by time alone goes on: nothing is another version for that.
        by_time = {name: value for name, value in settings.items() if name != "check_cols"}
        write_snapshot(file, {**by_time, "strategy": "timestamp"})
        snapshot(bench)
        begun = versions(bench)
        assert begun == {f"p{number:03d}": [(0, None)] for number in range(6)}
        write_snapshot(file, settings)
        snapshot(bench)
        assert versions(bench) == begun
        lots.day = 1
        lots.rewrite("p000")
        lots.move("p001")
        lots.reshape("p002")
        lots.revalue("p003")
        lots.updated["p004"] = 1
        deliver(bench, lots, "lots")
        snapshot(bench)
        changed = [(0, 1), (1, None)]
        expected: dict[str, Any] = {key: [(0, None)] for key in ["p000", "p004", "p005"]}
        expected |= dict.fromkeys(["p001", "p002", "p003"], changed)
        assert versions(bench) == expected

        # What was no change leaves no mark: the next change counts from its own time.
        lots.day = 3
        lots.rewrite("p001")
        lots.reshape("p000")
        deliver(bench, lots, "lots")
        snapshot(bench)
        assert versions(bench) == {**expected, "p000": [(0, 3), (3, None)]}

        # A parcel goes and comes back as it was, one is corrected under its old time, one under an earlier time, and one has none.
        periods = periods_of(bench)
        gone, kept = lots.shapes.pop("p005"), lots.values.pop("p005")
        lots.values["p003"] += 5
        lots.updated["p002"] = 0
        lots.values["p002"] += 5
        lots.values["p004"] += 5
        lots.updated["p004"] = None
        deliver(bench, lots, "lots")
        gone_from(bench, "p005")
        seen = datetime.now(UTC)
        snapshot(bench)
        lots.shapes["p005"], lots.values["p005"] = gone, kept
        deliver(bench, lots, "lots")
        snapshot(bench)
        for key in ("p002", "p003", "p004", "p005"):
            found = periods_of(bench)[key]
            assert len(found) == len(periods[key]) + 1, key
            *past, (since, until) = found
            assert since >= seen
            assert until is None
            # One begins where the other ends; only what was gone has a gap.
            assert (past[-1][1] < since) if key == "p005" else (past[-1][1] == since), key
        assert {key: periods_of(bench)[key] for key in ("p000", "p001")} == {
            key: periods[key] for key in ("p000", "p001")
        }
        ids = column(bench, "dbt_scd_id")
        assert len(ids) == len(set(ids))
        # What counts now is what the table says.
        assert current(bench) == {
            row["parcel_id"]: row["assessed_value"] for row in bench.read("lots").to_pylist()
        }
        again = periods_of(bench)
        write_snapshot(file, {**settings, "meta": {"looked": "again"}})
        snapshot(bench)
        assert periods_of(bench) == again

        write_snapshot(file, {**settings, "check_cols": "all"})
        outcome, _ = bench.dbt("snapshot", "--select", "lots_history")
        assert "the strategy content needs updated_at, and check_cols as a list" in dbt_calls.first_line(
            outcome
        )
    finally:
        file.unlink(missing_ok=True)
        bench.forget(["lots"])
