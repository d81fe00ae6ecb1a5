"""What maintenance plans, on real tables: what is needed, no more, and from the logs alone."""

from __future__ import annotations

import json
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from delta_tables import shapes, write_each, write_many, write_project
from deltalake import DeltaTable, write_deltalake

from geostrata import cli, settings
from geostrata.tables import plan, policy
from geostrata.tables.policy import Rule
from geostrata.tables.project import ProjectTable
from geostrata.tables.state import read_state

WHOLE = [[0, 0, 1, 1], [9, 9, 10, 10]]
NOW = datetime.now(UTC)


def some_policy(**changes: Any) -> policy.Policy:
    usual = {"small_files": 4, "small_share": 0.25, "unclustered_bytes": 1, "unclustered_share": 0.2}
    return policy.Policy(2, (Rule("all", 1, usual | {"reclaim_bytes": 1} | changes),))


def planned(
    path: Path, chosen: policy.Policy | None = None, now: datetime = NOW, **more: Any
) -> list[plan.Action]:
    table = ProjectTable("silver.t", str(path), layer="silver", model="t", **more)
    return plan.plan_table(table, read_state(path), chosen or some_policy(), now)


def test_small_files_are_merged_once_there_are_enough(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes(WHOLE) for _ in range(3)])
    assert planned(tmp_path) == []
    write_each(tmp_path, [shapes(WHOLE)])
    (action,) = planned(tmp_path)
    total = read_state(tmp_path).bytes
    assert action.kind == plan.COMPACT
    assert action.statement == f"optimize delta.`{tmp_path}`"
    assert action.reason == "4 small files of 4"
    assert (action.files_before, action.files_after) == (4, 1)
    assert (action.bytes_before, action.bytes_rewritten) == (total, total)
    DeltaTable(tmp_path).optimize.compact()
    assert planned(tmp_path) == []


def test_files_of_the_target_size_are_left(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes(WHOLE) for _ in range(6)])
    size = read_state(tmp_path).bytes // 6
    assert planned(tmp_path, some_policy(target_file_size=size)) == []
    # The model's own word counts more than the policy's.
    (action,) = planned(tmp_path, some_policy(target_file_size=size), layout={"target_file_size": "1mb"})
    assert action.target_file_size == 1 << 20


def test_a_share_of_small_files_is_needed_as_well(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes(np.random.default_rng(1).uniform(0, 1, (3000, 4))) for _ in range(8)])
    large = int(read_state(tmp_path).files.sizes.min())
    write_each(tmp_path, [shapes(WHOLE) for _ in range(4)])
    assert planned(tmp_path, some_policy(target_file_size=large, small_share=0.5)) == []
    (action,) = planned(tmp_path, some_policy(target_file_size=large, small_share=0.3))
    # Only the small ones are written anew.
    assert action.reason == "4 small files of 12"
    assert (action.files_before, action.files_after) == (12, 9)
    assert action.bytes_rewritten == sum(sorted(read_state(tmp_path).files.sizes)[:4])


def test_what_lies_outside_the_order_is_put_in_order(tmp_path: Path) -> None:
    layout = {"zorder": ["shape_id"]}
    write_each(tmp_path, [shapes(WHOLE) for _ in range(3)])
    (action,) = planned(tmp_path, layout=layout)
    assert action.kind == plan.ZORDER
    assert action.statement == f"optimize delta.`{tmp_path}` zorder by (shape_id)"
    assert "out of order" in action.reason
    assert planned(tmp_path, some_policy(unclustered_bytes=1 << 30), layout=layout) == []
    DeltaTable(tmp_path).optimize.z_order(["shape_id"])
    assert planned(tmp_path, layout=layout) == []
    # One file of another age: a quarter of the rows, but of the bytes half.
    write_each(tmp_path, [shapes(WHOLE)])
    assert planned(tmp_path, some_policy(unclustered_share=0.6), layout=layout) == []
    (again,) = planned(tmp_path, layout=layout)
    assert again.bytes_rewritten == read_state(tmp_path).bytes


def test_files_side_by_side_need_no_order(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes([x, 0, x + 0.9, 1]) for x in range(3)])
    assert planned(tmp_path, layout={"zorder": ["shape_id"]}) == []


def test_only_partitions_that_need_it_are_touched(tmp_path: Path) -> None:
    days = [date(2026, 3, day) for day in (1, 2, 2, 2, 2, 2, 3)]
    tables = [shapes(WHOLE, day=pa.array([day] * 2, pa.date32())) for day in days]
    write_each(tmp_path, tables, partition_by=["day"])
    (action,) = planned(tmp_path)
    assert action.statement == f"optimize delta.`{tmp_path}` where (`day` <=> date '2026-03-02')"
    assert action.reason == "5 small files of 7; in 1 of 3 partitions"
    assert (action.files_before, action.files_after) == (5, 1)
    (ordered,) = planned(tmp_path, layout={"zorder": ["shape_id"]})
    assert ordered.statement.endswith("where (`day` <=> date '2026-03-02') zorder by (shape_id)")


@pytest.mark.parametrize(
    ("value", "kind", "literal"),
    [
        ("o'clock", pa.string(), "'o\\'clock'"),
        (7, pa.int32(), "7"),
        (None, pa.string(), "null"),
    ],
)
def test_partition_values_are_written_as_sql_has_them(
    tmp_path: Path, value: Any, kind: pa.DataType, literal: str
) -> None:
    other = "z" if pa.types.is_string(kind) else 0
    for part in [value] * 4 + [other]:
        write_each(tmp_path, [shapes(WHOLE, part=pa.array([part] * 2, kind))], partition_by=["part"])
    (action,) = planned(tmp_path)
    assert f"where (`part` <=> {literal})" in action.statement


def test_many_partitions_are_several_statements(tmp_path: Path) -> None:
    parts = pa.array([number for number in range(130) for _ in range(2)], pa.int32())
    for _ in range(2):
        write_deltalake(tmp_path, shapes(WHOLE * 130, part=parts), mode="append", partition_by=["part"])
    write_deltalake(tmp_path, shapes(WHOLE, part=pa.array([999] * 2, pa.int32())), mode="append")
    actions = planned(tmp_path)
    assert [action.statement.count("<=>") for action in actions] == [100, 30]
    assert sum(action.files_before for action in actions) == 260


def test_layout_none_is_let_be(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes(WHOLE) for _ in range(9)])
    assert planned(tmp_path, is_kept=False) == []


def test_removed_files_are_deleted_after_their_time(tmp_path: Path) -> None:
    table = write_each(tmp_path, [shapes(WHOLE) for _ in range(3)])
    removed = read_state(tmp_path).bytes
    table.optimize.compact()
    assert planned(tmp_path, now=NOW + timedelta(days=6)) == []
    later = NOW + timedelta(days=8)
    (action,) = planned(tmp_path, now=later)
    assert (action.kind, action.files_before, action.bytes_before) == (plan.VACUUM, 3, removed)
    assert action.statement == f"vacuum delta.`{tmp_path}` retain 168 hours"
    assert action.override is None
    assert planned(tmp_path, some_policy(reclaim_bytes=removed + 1), later) == []
    assert planned(tmp_path, some_policy(deleted_files=timedelta(days=9)), later) == []


def test_the_table_s_own_retention_has_the_last_word(tmp_path: Path) -> None:
    longer = {"delta.deletedFileRetentionDuration": "interval 20 days"}
    write_each(tmp_path, [shapes(WHOLE) for _ in range(3)], configuration=longer).optimize.compact()
    assert planned(tmp_path, now=NOW + timedelta(days=19)) == []
    (action,) = planned(tmp_path, now=NOW + timedelta(days=21))
    assert action.statement.endswith("retain 480 hours")


def test_a_short_retention_has_its_reason_in_the_plan(tmp_path: Path) -> None:
    write_each(tmp_path, [shapes(WHOLE) for _ in range(3)]).optimize.compact()
    hurried = some_policy(deleted_files=timedelta(hours=1), allow_short_retention="erased on request")
    (action,) = planned(tmp_path, hurried, NOW + timedelta(hours=2))
    assert action.statement.endswith("retain 1 hours")
    assert action.override == "erased on request"
    assert action.reason.endswith("short retention: erased on request")


def test_most_needed_first_and_deleting_last(tmp_path: Path) -> None:
    for name, count in {"few": 4, "many": 12, "some": 7}.items():
        write_each(tmp_path / name, [shapes(WHOLE) for _ in range(count)])
    write_each(tmp_path / "dead", [shapes(WHOLE) for _ in range(20)]).optimize.compact()
    later = NOW + timedelta(days=8)
    actions = []
    for name in ("dead", "few", "many", "some"):
        table = ProjectTable(name, str(tmp_path / name))
        actions += plan.plan_table(table, read_state(table.uri), some_policy(), later)
    assert [action.table.name for action in plan.ordered(actions)] == ["many", "some", "few", "dead"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 tables, ten of which have too many files."""
    folder = tmp_path_factory.mktemp("project")
    names = [f"{layer}.t{number:03d}" for number in range(100) for layer in ("gold", "silver")]
    write_project(folder, {name: {} for name in names})
    for number, name in enumerate(names):
        layer, table = name.split(".")
        count = 20 if number % 20 == 0 else 1
        path = folder / f"state/warehouse/{layer}.db" / table
        write_many(path, [shapes(WHOLE, part) for part in range(count)])
    return folder


@pytest.fixture
def policy_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    monkeypatch.setenv(settings.STATE_VARIABLE, str(project / "state"))
    file = project / policy.FILE
    file.write_text("version: 1\nrules:\n  - {select: all, compact: {small_files: 16}}\n")
    return file


@pytest.mark.usefixtures("policy_file")
def test_two_hundred_tables_are_planned_without_spark_each_log_read_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = set(sys.modules)
    opened: list[str] = []
    open_table = DeltaTable.__init__

    def count(table: DeltaTable, uri: str, **options: Any) -> None:
        opened.append(str(uri))
        open_table(table, uri, **options)

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "__init__", count)
        assert cli.main(["maintain", "plan", "--json"]) == 0
    actions = json.loads(capsys.readouterr().out)
    assert len(actions) == 10
    assert {action["files_before"] for action in actions} == {20}
    assert len(opened) == len(set(opened)) == 200
    assert "pyspark" not in sys.modules.keys() - imported
    assert cli.main(["maintain"]) == 0
    out = capsys.readouterr().out
    assert "200 tables, 10 of them to work on; looked at in " in out
    assert "gold.t000  compact  20 -> 1" in out
    assert "  gold.t000: 20 small files of 20" in out


@pytest.mark.usefixtures("policy_file")
def test_what_needs_nothing_is_said_to_need_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["maintain", "plan", "gold.t001"]) == 0
    assert capsys.readouterr().out.startswith("Nothing to do: 1 tables, 0 of them to work on")


@pytest.mark.usefixtures("policy_file")
def test_apply_wants_its_log_before_it_begins(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["maintain", "apply"]) == 2
    assert capsys.readouterr().err == (
        "geostrata: ops.maintenance_log is not built yet: run `dbt run --select maintenance_log` once\n"
    )
    assert cli.main(["maintain", "apply", "gold.t001"]) == 0
    assert capsys.readouterr().out == "Nothing to do.\n"


def test_a_vacuum_under_retention_is_refused_before_anything_begins(
    policy_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "{select: all, retention: {deleted_files: 6 days, snapshots: 1 day}}"
    policy_file.write_text(f"version: 1\nrules:\n  - {rule}\n")
    for verb in ("plan", "apply"):
        assert cli.main(["maintain", verb]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert (
            "maintenance.yml, line 3: gold.t000 and 199 more: removed files would be deleted after 6 days"
            in said.err
        )
