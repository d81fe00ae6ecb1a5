"""`geostrata maintain apply` on real tables, with real Spark: the content stays, the layout changes, all is written down."""

from __future__ import annotations

import re
import shlex
import shutil
import threading
import time
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dbt.adapters.sedona.connections import SessionHandle
from deltalake import DeltaTable
from lifecycle_bench import LifecycleBench
from maintain_bench import SharedEngine, content, shapes, some_policy, write_each, write_many
from workbench import ROOT

from geostrata import cli, dbt_calls
from geostrata.tables import apply, maintain, plan
from geostrata.tables.apply import Run
from geostrata.tables.boxes import overlap_depth
from geostrata.tables.health import examine
from geostrata.tables.policy import Policy
from geostrata.tables.project import ProjectTable
from geostrata.tables.state import read_state
from geostrata.tables.units import Window

WHOLE = [[0, 0, 1, 1], [9, 9, 10, 10]]


@pytest.fixture(scope="module")
def ops(bench: LifecycleBench) -> LifecycleBench:
    """The two tables in ops that these commands fill, made by dbt."""
    for name in ("maintenance_log", "table_health"):
        bench.write_log(name)
    outcome, lines = bench.dbt("run", "--select", "maintenance_log", "table_health")
    assert outcome.success, lines
    shutil.copy(ROOT / "maintenance.yml", bench.project)
    return bench


def logged(bench: LifecycleBench, path: Path) -> list[dict[str, Any]]:
    rows = DeltaTable(bench.state / "warehouse/ops.db/maintenance_log").to_pyarrow_table().to_pylist()
    return [row for row in rows if row["table_path"] == str(path)]


def table_at(path: Path, **more: Any) -> ProjectTable:
    return ProjectTable(path.name, str(path), layer="tried", model=path.name, **more)


def apply_to(table: ProjectTable, chosen: Policy | None = None, **options: Any) -> list[apply.Outcome]:
    chosen = chosen or some_policy()
    now = options.get("clock", lambda: datetime.now(UTC))()
    actions = plan.plan_table(table, read_state(table.uri), chosen, now)
    return Run(chosen, SharedEngine(), **options).apply(actions)


def test_nine_thousand_tiny_files_become_a_handful(ops: LifecycleBench, tmp_path: Path) -> None:
    path = tmp_path / "many"
    corners = np.random.default_rng(1).uniform(0, 1, (9000, 2))
    write_many(path, [shapes([*at, *(at + 0.001)], number) for number, at in enumerate(corners)])
    began = time.monotonic()
    before = read_state(path)
    table = table_at(path, layout={"zorder": ["bbox.xmin", "bbox.ymin"]})
    usual = some_policy(small_files=16)
    (action,) = plan.plan_table(table, before, usual)
    assert time.monotonic() - began < 10
    assert (len(before.files), action.files_before) == (9000, 9000)
    stored = content(path)

    (outcome,) = apply_to(table, usual)
    assert (outcome.status, outcome.error) == (apply.DONE, None)
    after = read_state(path)
    assert len(after.files) == outcome.files_after <= 12
    assert content(path) == stored
    # Nothing is left to do.
    assert apply_to(table, usual) == []
    (row,) = logged(ops, path)
    assert (row["status"], row["tries"], row["files_before"]) == ("done", 1, 9000)
    assert row["sql_text"].endswith("zorder by (bbox.xmin, bbox.ymin)")
    assert row["version_after"] == after.version > row["version_before"]


def test_files_lie_side_by_side_afterwards(ops: LifecycleBench, tmp_path: Path) -> None:
    path = tmp_path / "piled"
    chance = np.random.default_rng(2)
    for number in range(8):
        corners = chance.uniform(0, 1, (5000, 2))
        write_each(path, [shapes(np.column_stack([corners, corners]), number * 5000)])
    before = read_state(path)
    assert overlap_depth(before.files.boxes) > 7
    layout = {"zorder": ["bbox.xmin", "bbox.ymin"], "target_file_size": before.bytes // 8}
    table = table_at(path, layout=layout)
    (outcome,) = apply_to(table)
    assert outcome.status == apply.DONE
    after = read_state(path)
    assert len(after.files) > 3
    # Where the order is cut into files, Spark decides by a sample: 2, more or less, of eight.
    assert overlap_depth(after.files.boxes) < 3
    health = examine(table, after)
    assert health.clustered_share == 1
    assert health.window_bytes is not None and health.window_bytes < before.bytes / 2


def test_a_clustered_table_is_put_in_order_by_its_clustering(ops: LifecycleBench, tmp_path: Path) -> None:
    path = tmp_path / "liquid"
    spark = SharedEngine().handle().spark
    spark.sql(f"create table delta.`{path}` (id bigint, x double) using delta cluster by (x)")
    for _ in range(5):
        spark.sql(f"insert into delta.`{path}` select id, rand() from range(20000)")
    table = table_at(path)
    (action,) = plan.plan_table(table, read_state(path), some_policy())
    assert (action.kind, action.statement) == (plan.CLUSTER, f"optimize delta.`{path}`")
    rows = spark.sql(f"select count(*), count(distinct x) from delta.`{path}`").first()
    (outcome,) = apply_to(table)
    assert outcome.status == apply.DONE
    assert spark.sql(f"select count(*), count(distinct x) from delta.`{path}`").first() == rows
    state = read_state(path)
    assert set(state.files.ordered_by) == {("x",)}
    assert apply_to(table) == []


def test_only_the_partition_that_needs_it_is_rewritten(ops: LifecycleBench, tmp_path: Path) -> None:
    path = tmp_path / "by day"
    days = ["it's monday"] * 5 + ["tuesday"]
    for number, day in enumerate(days):
        write_each(path, [shapes(WHOLE, number * 2, day=[day] * 2)], partition_by=["day"])
    stored = content(path)
    kept = [file for file in read_state(path).files.paths if "tuesday" in file]
    (outcome,) = apply_to(table_at(path))
    assert (outcome.status, outcome.error) == (apply.DONE, None)
    state = read_state(path)
    assert [file for file in state.files.paths if "tuesday" in file] == kept
    assert len(state.files) == 2
    assert content(path) == stored


def test_vacuum_deletes_what_is_old_enough_and_nothing_else(ops: LifecycleBench, tmp_path: Path) -> None:
    path = tmp_path / "dead"
    write_each(path, [shapes(WHOLE, number * 2) for number in range(5)]).optimize.compact()
    files = len(list(path.glob("*.parquet")))
    assert files == 6
    # Delta's own guard refuses what the policy would have to allow.
    unguarded = plan.Action(
        table_at(path), plan.VACUUM, f"vacuum delta.`{path}` retain 1 hours", "", 5, 0, 1, 0, 0, 1.0, 1 << 22
    )
    hurried = some_policy(
        deleted_files=timedelta(0), allow_short_retention="erased on request", reclaim_bytes=1
    )
    (refused,) = Run(hurried, SharedEngine()).apply([unguarded])
    assert refused.status == apply.FAILED
    assert "retention" in str(refused.error).lower()
    assert len(list(path.glob("*.parquet"))) == files

    (outcome,) = apply_to(table_at(path), hurried)
    assert (outcome.status, outcome.error) == (apply.DONE, None)
    assert len(list(path.glob("*.parquet"))) == 1
    assert (outcome.files_before, outcome.files_after) == (5, 0)
    assert len(content(path)) == 10
    refusal, done = sorted(logged(ops, path), key=lambda row: row["ended_at"])
    assert (refusal["status"], refusal["override_reason"]) == ("failed", None)
    assert (done["status"], done["override_reason"]) == ("done", "erased on request")
    assert apply_to(table_at(path), hurried) == []


def test_what_was_done_meanwhile_is_not_done_again(ops: LifecycleBench, tmp_path: Path) -> None:
    path = tmp_path / "done"
    write_each(path, [shapes(WHOLE, number) for number in range(5)])
    actions = plan.plan_table(table_at(path), read_state(path), some_policy())
    DeltaTable(path).optimize.compact()
    version = DeltaTable(path).version()
    (outcome,) = Run(some_policy(), SharedEngine()).apply(actions)
    assert outcome.status == apply.NOT_NEEDED
    assert DeltaTable(path).version() == version
    assert logged(ops, path) == []


def test_nothing_begins_outside_its_window(ops: LifecycleBench, tmp_path: Path) -> None:
    path = tmp_path / "waiting"
    write_each(path, [shapes(WHOLE, number) for number in range(5)])
    night = some_policy(window=Window(clock_time(22), clock_time(5)))
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    (outcome,) = apply_to(table_at(path), night, clock=lambda: noon)
    assert (outcome.status, outcome.error) == (apply.OUT_OF_WINDOW, "its window is 22:00-05:00 UTC")
    assert DeltaTable(path).version() == 4
    (outcome,) = apply_to(table_at(path), night, clock=lambda: noon + timedelta(hours=12))
    assert outcome.status == apply.DONE


def test_what_runs_at_the_end_of_its_window_is_stopped(
    ops: LifecycleBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "late"
    write_many(path, [shapes(WHOLE, number) for number in range(3000)])
    stored = len(content_rows(path))
    night = some_policy(window=Window(clock_time(22), clock_time(5)))
    running = threading.Event()

    def clock() -> datetime:
        """A second before the end until the statement runs, however long that takes; past it from then on."""
        return datetime(2026, 3, 1, 5 if running.is_set() else 4, 59, 59, tzinfo=UTC)

    def submit(handle: SessionHandle, statement: str) -> None:
        if statement.lstrip().lower().startswith("optimize"):
            running.set()
            # The window's end is seen while the statement is under way.
            assert handle._cancelled.wait(600)
        real_submit(handle, statement)

    real_submit = SessionHandle._submit
    monkeypatch.setattr(SessionHandle, "_submit", submit)
    (outcome,) = apply_to(table_at(path, layout={"zorder": ["shape_id"]}), night, clock=clock)
    monkeypatch.undo()
    assert outcome.status == apply.STOPPED, outcome
    assert DeltaTable(path).version() == 9
    assert len(content_rows(path)) == stored
    assert logged(ops, path)[0]["status"] == "stopped"
    # Later it is taken up again.
    (outcome,) = apply_to(
        table_at(path, layout={"zorder": ["shape_id"]}),
        night,
        clock=lambda: datetime(2026, 3, 1, 23, tzinfo=UTC),
    )
    assert outcome.status == apply.DONE


def content_rows(path: Path) -> list[Any]:
    return DeltaTable(path).to_pyarrow_table().to_pylist()


def test_a_table_that_can_t_be_read_does_not_end_the_others_work(ops: LifecycleBench, tmp_path: Path) -> None:
    broken, sound = tmp_path / "broken", tmp_path / "sound"
    actions = []
    for path in (broken, sound):
        write_each(path, [shapes(WHOLE, number) for number in range(5)])
        actions += plan.plan_table(table_at(path), read_state(path), some_policy())
    next(broken.glob("*.parquet")).unlink()
    outcomes = {
        outcome.action.table.name: outcome for outcome in Run(some_policy(), SharedEngine()).apply(actions)
    }
    assert outcomes["sound"].status == apply.DONE
    assert outcomes["broken"].status == apply.FAILED
    assert "\n" not in str(outcomes["broken"].error)
    assert logged(ops, broken)[0]["error"] == outcomes["broken"].error


def test_an_interrupt_ends_calmly(
    ops: LifecycleBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "interrupted"
    write_many(path, [shapes(WHOLE, number) for number in range(3000)])
    run = Run(some_policy(1), SharedEngine())
    actions = plan.plan_table(table_at(path), read_state(path), some_policy())
    real_wait, calls = apply.wait, []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real_wait(*arguments, **options)

    monkeypatch.setattr(apply, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.apply(actions)
    assert DeltaTable(path).version() == 9
    (row,) = logged(ops, path)
    assert row["status"] == "stopped"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("maintain")]


@pytest.fixture
def project(ops: LifecycleBench) -> LifecycleBench:
    """Two tables of the guides, one of them with more files than it should have."""
    placed = (
        "select /*+ coalesce(1) */ id as {key}, named_struct('xmin', rand(), 'ymin', rand(), 'xmax', 1d, 'ymax', 1d) as bbox"
        " from range(200)"
    )
    for schema, name in {"silver": "parcels", "gold": "device_trips"}.items():
        config = f"{{{{ config(schema='{schema}') }}}}"
        ops.write({name: f"{config} {placed.format(key='shape_id')}"})
    outcome, lines = ops.dbt("run", "--select", "parcels", "device_trips")
    assert outcome.success, lines
    SharedEngine().handle().execute(
        "insert into silver.parcels select /*+ repartition(20) */ * from silver.parcels"
    )
    # The rules for layers that this small project does not have.
    text = (ROOT / "maintenance.yml").read_text().replace("  - select: bronze\n", "  - select: ops\n")
    (ops.project / "maintenance.yml").write_text(text)
    return ops


def commands(guide: str) -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / guide).read_text(), re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("guide", ["audit.md", "maintenance.md"])
def test_every_command_of_the_guides(
    project: LifecycleBench, guide: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the session that the suite has already."""
    monkeypatch.setattr(maintain, "SparkEngine", lambda target: SharedEngine())
    lines = commands(guide)
    assert len(lines) >= 5
    for program, *arguments in lines:
        if program == "dbt":
            outcome, said = project.dbt(*arguments)
            assert outcome.success, said
        else:
            assert program == "geostrata"
            given = [argument.replace(".geostrata", str(project.state)) for argument in arguments]
            assert cli.main(given) == 0, arguments
    assert "Traceback" not in "".join(capfd.readouterr())


def test_what_is_done_and_seen_can_be_read_by_dbt(
    project: LifecycleBench, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintain, "SparkEngine", lambda target: SharedEngine())
    path = project.state / "warehouse/silver.db/parcels"
    done_before = len(logged(project, path))
    assert cli.main(["maintain"]) == 0
    assert "silver.parcels: 21 small files of 21" in capfd.readouterr().out
    assert cli.main(["maintain", "apply", "silver"]) == 0
    out = capfd.readouterr().out
    assert "silver.parcels: compact done, 21 -> 1 files" in out
    assert "1 done. The log is in ops.maintenance_log." in out
    assert cli.main(["maintain", "apply"]) == 0
    assert "Nothing to do." in capfd.readouterr().out
    assert cli.main(["audit", "silver", "--record"]) == 0
    # A run of dbt leaves both tables as they are, and sees what was appended by another engine.
    outcome, said = project.dbt("run", "--select", "maintenance_log", "table_health")
    assert outcome.success, said
    rows = dbt_calls.query(
        "select status, files_after from {{ ref('maintenance_log') }} where relation_name = 'silver.parcels'"
    )
    assert len(rows) == done_before + 1
    assert {(row["status"], int(row["files_after"])) for row in rows} == {("done", 1)}
    seen = dbt_calls.query(
        "select files, total_rows from {{ ref('table_health') }} where relation_name = 'silver.parcels' "
        "order by recorded_at desc"
    )
    assert (int(seen[0]["files"]), int(seen[0]["total_rows"])) == (1, 400)


def test_the_same_as_a_dbt_operation(project: LifecycleBench) -> None:
    path = project.state / "warehouse/silver.db/parcels"
    outcome, said = project.dbt("run-operation", "maintain")
    assert outcome.success, said
    assert "silver.parcels: 21 small files of 21" in "\n".join(said)
    assert len(read_state(path).files) == 21
    outcome, said = project.dbt("run-operation", "maintain", "--args", "{apply: true, tables: [parcels]}")
    assert outcome.success, said
    assert "1 done. The log is in ops.maintenance_log." in "\n".join(said)
    assert len(read_state(path).files) == 1
    outcome, said = project.dbt("run-operation", "maintain", "--args", "{tables: [parcls]}")
    assert not outcome.success
    assert "did you mean parcels?" in "\n".join(said)
