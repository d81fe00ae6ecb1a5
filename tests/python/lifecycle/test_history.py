"""Time travel, differences, change feeds and snapshots on real tables, against what was planted and what other engines read."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely
from deltalake import DeltaTable
from history_bench import Parcels, deliver
from lifecycle_bench import LifecycleBench

KEYS = [f"p{number:03d}" for number in range(60)]
PLANTED = {
    **dict.fromkeys(KEYS[10:20], ("moved", ["geometry"])),
    **dict.fromkeys(KEYS[20:30], ("reshaped", ["geometry"])),
    **dict.fromkeys(KEYS[30:40], ("attribute changed", ["assessed_value"])),
    **dict.fromkeys(KEYS[40:45], ("removed", [])),
    **dict.fromkeys(KEYS[45:50], ("moved", ["assessed_value", "geometry"])),
    **{f"q{number}": ("added", []) for number in range(5)},
}


class Town:
    """A table of three versions: as planted, after the delivery of day 1, and after removals."""

    def __init__(self, bench: LifecycleBench) -> None:
        self.bench = bench
        self.parcels = Parcels.planted(60)
        deliver(bench, self.parcels)
        time.sleep(1.1)
        self.between = datetime.now(UTC)
        time.sleep(1.1)
        self.parcels.day = 1
        for key in KEYS[:10]:
            self.parcels.rewrite(key)
        for key in KEYS[10:20] + KEYS[45:50]:
            self.parcels.move(key)
        for key in KEYS[20:30]:
            self.parcels.reshape(key)
        for key in KEYS[30:40] + KEYS[45:50]:
            self.parcels.revalue(key)
        random = np.random.default_rng(9)
        for number in range(5):
            self.parcels.add(f"q{number}", random)
        deliver(bench, self.parcels)
        for key in KEYS[40:45]:
            del self.parcels.shapes[key]
        gone = ", ".join(f"'{key}'" for key in KEYS[40:45])
        bench.spark().sql(f"delete from tried.parcels where parcel_id in ({gone})")

    def at(self, version: int) -> pd.DataFrame:
        """As another engine reads it."""
        read = DeltaTable(self.bench.path("parcels"), version=version).to_pyarrow_table()
        return read.to_pandas().set_index("parcel_id").sort_index()


@pytest.fixture(scope="module")
def town(bench: LifecycleBench) -> Any:
    yield Town(bench)
    bench.forget(["parcels"])


def rows(table: pa.Table, *order: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return sorted(found, key=lambda row: [str(row[name]) for name in order])


def test_versions_differences_and_changes(bench: LifecycleBench, town: Town) -> None:
    moment = town.between.isoformat(" ")
    models = {
        "as_of_version": "select * from {{ ref_as_of('parcels', version=0) }}",
        "as_of_time": f"select * from {{{{ ref_as_of('parcels', timestamp='{moment}') }}}}",
        # Three versions of one table in one query: none is taken for another.
        "side_by_side": """
            select 'now' as version, count(*) as parcels, sum(assessed_value) as assessed_value from {{ ref('parcels') }}
            union all
            select 'first', count(*), sum(assessed_value) from {{ ref_as_of('parcels', version=0) }}
            union all
            select 'second', count(*), sum(assessed_value) from {{ ref_as_of('parcels', version=1) }}
        """,
        "differences": "select * from {{ diff('parcels', 0, 2, ignore=['updated_at']) }}",
        "differences_by_time": f"select * from {{{{ diff('parcels', '{moment}', 2, ignore=['updated_at']) }}}}",
        "counts": "select * from {{ diff_counts('parcels', 0, 2, ignore=['updated_at']) }}",
        "no_difference": "select * from {{ diff('parcels', 2, 2) }}",
        "between": "select * from {{ changes_between('parcels', 0, 2) }}",
        "last_only": "select * from {{ changes_between('parcels', 1, 2) }}",
        "nothing_between": "select * from {{ changes_between('parcels', 2, 2) }}",
    }
    try:
        found = bench.run(models)
    finally:
        bench.forget(models)
    first, second, last = (town.at(version) for version in range(3))
    for name in ("as_of_version", "as_of_time"):
        read = found[name].to_pandas().set_index("parcel_id").sort_index()
        pd.testing.assert_frame_equal(read, first, check_dtype=False)
    told = {
        row["version"]: (row["parcels"], row["assessed_value"]) for row in found["side_by_side"].to_pylist()
    }
    assert told == {
        name: (len(frame), frame["assessed_value"].sum())
        for name, frame in (("first", first), ("second", second), ("now", last))
    }
    assert len({count for count, _ in told.values()}) == 2

    assert {
        row["parcel_id"]: (row["kind"], row["changed_columns"])
        for row in rows(found["differences"], "parcel_id")
    } == PLANTED
    assert found["differences"].num_rows == len(PLANTED)
    assert rows(found["differences"], "parcel_id") == rows(found["differences_by_time"], "parcel_id")
    for row in found["differences"].to_pylist():
        check_against_shapely(row, first, last)
    assert {row["kind"]: row["key_count"] for row in found["counts"].to_pylist()} == {
        "added": 5,
        "removed": 5,
        "moved": 15,
        "reshaped": 10,
        "attribute changed": 10,
    }
    assert found["no_difference"].num_rows == 0

    for name, start in (("between", 1), ("last_only", 2)):
        feed = pa.table(bench.log("parcels").load_cdf(starting_version=start, ending_version=2).read_all())
        order = ("parcel_id", "_change_type", "_commit_version")
        compared = [*order, "assessed_value", "geometry"]
        assert rows(found[name].select(compared), *order) == rows(feed.select(compared), *order)
    assert found["last_only"].num_rows == 5
    assert found["nothing_between"].num_rows == 0
    assert set(found["nothing_between"].column_names) == set(found["between"].column_names)


def check_against_shapely(row: dict[str, Any], first: pd.DataFrame, last: pd.DataFrame) -> None:
    """The kind once more, by other means: topological equality, and a carried shape's distance."""
    key = row["parcel_id"]
    before = first["geometry"].get(key)
    after = last["geometry"].get(key)
    assert (row["geometry_before"], row["geometry_after"]) == (before, after)
    assert row["geometry"] == (after or before)
    if before is None or after is None:
        assert row["kind"] == ("added" if before is None else "removed")
        return
    old, new = shapely.from_wkb(before), shapely.from_wkb(after)
    carried = shapely.transform(old, lambda points: points + new.centroid.coords[0] - old.centroid.coords[0])
    fits = carried.symmetric_difference(new).area < 1e-12
    kind = "attribute changed" if old.equals(new) else "moved" if fits else "reshaped"
    assert row["kind"] == kind


def test_what_there_is_not_is_told_in_one_line(bench: LifecycleBench, town: Town) -> None:
    plain = {"without_feed": "select 1 as id"}
    wrong = {
        "w1": (
            "ref_as_of('parcels', version=99)",
            "ref_as_of: tried.parcels has no version 99; its log has 0 to 2",
        ),
        "w2": (
            "ref_as_of('parcels', timestamp='2001-01-01')",
            "there is none of 2001-01-01 00:00:00.000 UTC",
        ),
        "w3": ("ref_as_of('parcels', timestamp='2999-01-01')", "2999-01-01 00:00:00.000 UTC is yet to come"),
        "w4": ("ref_as_of('parcels', timestamp='soon')", "ref_as_of: a timestamp is written"),
        "w5": ("diff('parcels', 0, 7)", "diff: tried.parcels has no version 7"),
        "w6": ("diff('without_feed', 0, 0)", "diff: which column tells the rows of without_feed apart?"),
        "w7": (
            "diff('parcels', 0, 1, ignore=['colour'])",
            "diff: tried.parcels has no column colour; there are",
        ),
        "w8": ("changes_between('parcels', 2, 0)", "changes_between: the earlier version comes first"),
        "w9": (
            "changes_between('without_feed', 0, 0)",
            "changes_between: tried.without_feed keeps no change feed",
        ),
        "w10": (
            "ref_as_of('never_built', version=0)",
            "there is no table tried.never_built yet. Build it first",
        ),
    }
    never_built = {"never_built": "{{ config(materialized='view') }} select 1 as id"}
    models = {
        **plain,
        **never_built,
        **{name: f"select * from {{{{ {sql} }}}}" for name, (sql, _) in wrong.items()},
    }
    bench.write(models)
    try:
        outcome, _ = bench.dbt("run", "--select", "without_feed", *wrong)
    finally:
        bench.forget(models)
    messages = {result.node.name: " ".join(str(result.message).split()) for result in outcome.result.results}
    assert [(name, messages[name]) for name, (_, said) in wrong.items() if said not in messages[name]] == []
    # Found while dbt reads the project, before anything runs.
    assert "ref_as_of: give either version or timestamp of parcels" in bench.error(
        "select * from {{ ref_as_of('parcels') }}"
    )
    assert "depends on a node named 'nowhere'" in bench.error("select * from {{ diff('nowhere', 0, 1) }}")
