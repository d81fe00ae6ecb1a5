"""Models that read what has changed since they last ran, and the audit of changes, on real tables."""

from __future__ import annotations

import getpass
import json
from collections import Counter

from history_bench import Parcels, deliver
from lifecycle_bench import LifecycleBench

from geostrata import dbt_calls
from geostrata.history.commits import FORGET

AUDIT = """
{{ config(materialized='incremental', incremental_strategy='append') }}
{{ audited_changes('parcels') }}
"""
FOLLOWER = """
{{ config(materialized='incremental', incremental_strategy='append') }}
select parcel_id, _change_type, _commit_version from {{ changes_since_last_run(ref('parcels')) }}
"""


def told(bench: LifecycleBench) -> dict[int, Counter[str]]:
    found: dict[int, Counter[str]] = {}
    for row in bench.read("audit").to_pylist():
        found.setdefault(row["commit_version"], Counter())[row["kind"]] += 1
    return found


def follow(bench: LifecycleBench) -> None:
    models = {"audit": AUDIT, "follower": FOLLOWER}
    bench.write(models)
    outcome, _ = bench.dbt("run", "--select", *models)
    assert outcome.success, dbt_calls.first_line(outcome)


def test_each_change_is_told_once(bench: LifecycleBench) -> None:
    bench.forget(["parcels"])
    # Another test may have made a table of this name: this one begins anew.
    deliver(bench, Parcels.planted(1), "started")
    bench.spark().sql("drop table if exists tried.parcels")
    parcels = Parcels.planted(20)
    deliver(bench, parcels)
    parcels.day = 1
    parcels.move("p000")
    parcels.reshape("p001")
    parcels.revalue("p002")
    parcels.rewrite("p003")
    deliver(bench, parcels)
    follow(bench)
    first = {0: Counter(added=20), 1: Counter({"moved": 1, "reshaped": 1, "attribute changed": 2})}
    assert told(bench) == first
    change = {row["entity_key"]: row for row in bench.read("audit").to_pylist() if row["commit_version"] == 1}
    # The ring of p003 is another, its time as well, its shape is not.
    assert {key: row["changed_columns"] for key, row in change.items()} == {
        "p000": ["updated_at", "geometry"],
        "p001": ["updated_at", "geometry"],
        "p002": ["assessed_value", "updated_at"],
        "p003": ["updated_at"],
    }
    before, after = (json.loads(change["p002"][f"attributes_{side}"]) for side in ("before", "after"))
    assert after["assessed_value"] == before["assessed_value"] + 1 == parcels.values["p002"]
    assert (change["p002"]["operation"], change["p002"]["entity"]) == ("MERGE", "parcels")
    assert "Spark" in change["p002"]["written_by"]
    note = json.loads(bench.commits("parcels")[1]["userMetadata"])
    assert (change["p002"]["run_id"], change["p002"]["user_name"]) == (note["dbt_run"], getpass.getuser())
    # On its first run the follower takes the table as it is.
    follower = bench.read("follower").to_pylist()
    assert Counter((row["_change_type"], row["_commit_version"]) for row in follower) == {("insert", 1): 20}

    # Nothing new: nothing is written.
    versions = bench.log("audit").version(), bench.log("follower").version()
    follow(bench)
    assert (bench.log("audit").version(), bench.log("follower").version()) == versions

    # A row is removed by hand. Compaction is no change.
    bench.spark().sql("delete from tried.parcels where parcel_id = 'p004'")
    bench.spark().sql("optimize tried.parcels")
    follow(bench)
    assert told(bench) == {**first, 2: Counter(removed=1)}
    (removed,) = [row for row in bench.read("audit").to_pylist() if row["kind"] == "removed"]
    assert (removed["entity_key"], removed["operation"]) == ("p004", "DELETE")
    assert removed["attributes_after"] is None
    assert (removed["user_name"], removed["run_id"]) == (None, None)
    assert removed["geometry_before"] is not None
    follower = bench.read("follower").to_pylist()
    assert [row["parcel_id"] for row in follower if row["_change_type"] == "delete"] == ["p004"]
    check_that_what_was_forgotten_is_not_kept(bench)
    check_that_a_table_made_anew_is_not_told_twice(bench)
    check_that_a_first_run_begins_after_vacuum(bench, parcels)
    bench.forget(["audit", "follower", "parcels", "started"])


def check_that_what_was_forgotten_is_not_kept(bench: LifecycleBench) -> None:
    before = told(bench)
    setting = "spark.databricks.delta.commitInfo.userMetadata"
    bench.spark().conf.set(setting, json.dumps({FORGET: "a request"}))
    bench.spark().sql("delete from tried.parcels where parcel_id = 'p005'")
    bench.spark().conf.unset(setting)
    follow(bench)
    assert told(bench) == before


def check_that_a_table_made_anew_is_not_told_twice(bench: LifecycleBench) -> None:
    before = told(bench)
    lines = bench.log("audit").to_pyarrow_table().num_rows
    # All rows once more: only p004 and p005 come back.
    outcome, _ = bench.dbt("run", "--select", "parcels", "--full-refresh")
    assert outcome.success, dbt_calls.first_line(outcome)
    outcome, _ = bench.dbt("run", "--select", "audit")
    assert outcome.success, dbt_calls.first_line(outcome)
    now = bench.log("parcels").version()
    kinds = told(bench)
    replaced = [version for version in kinds if version not in before]
    assert [kinds[version] for version in replaced] == [Counter(added=2)]
    assert replaced[0] <= now
    assert bench.log("audit").to_pyarrow_table().num_rows == lines + 2
    # A model that appends can't tell what is new, and says so.
    outcome, _ = bench.dbt("run", "--select", "follower")
    assert "changes_since_last_run: tried.follower can no longer tell what is new" in dbt_calls.first_line(
        outcome
    )


def check_that_a_first_run_begins_after_vacuum(bench: LifecycleBench, parcels: Parcels) -> None:
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    bench.spark().conf.set(check, "false")
    bench.spark().sql("vacuum tried.parcels retain 0 hours")
    bench.spark().conf.unset(check)
    for day, expected in ((2, []), (3, [Counter(moved=1)])):
        parcels.day = day
        if expected:
            parcels.move("p006")
            deliver(bench, parcels)
        outcome, _ = bench.dbt("run", "--select", "audit", "--full-refresh")
        assert outcome.success, dbt_calls.first_line(outcome)
        assert list(told(bench).values()) == expected
