"""Maintenance in a process of its own, while others write to the same table: nothing lost, nothing doubled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lifecycle_bench import LifecycleBench
from maintain_bench import SharedEngine, Writers, content
from workbench import ROOT

# Plans and applies again and again until it is told to stop; says what came of every statement.
LOOP = """
import json, sys
from pathlib import Path
from geostrata.tables import apply, ops_tables, plan
from geostrata.tables.engine import SparkEngine
from geostrata.tables.policy import Policy, Rule
from geostrata.tables.project import ProjectTable
from geostrata.tables.state import read_state

path, stop = Path(sys.argv[1]), Path(sys.argv[2])
usual = {"small_files": 4, "small_share": 0.1, "unclustered_bytes": 1, "unclustered_share": 0.05}
policy = Policy(2, (Rule("all", 1, usual),))
table = ProjectTable("t", str(path), layout={"zorder": ["shape_id"]})
# What it would write down goes to the test instead.
ops_tables.append = lambda name, rows: print(json.dumps(rows[0], default=str), flush=True)
engine = SparkEngine()
print("ready", flush=True)
while not stop.exists():
    actions = plan.plan_table(table, read_state(path), policy)
    apply.Run(policy, engine, base_s=0.1).apply(actions)
engine.stop()
"""


class Maintenance:
    def __init__(self, process: subprocess.Popen[str], stop: Path) -> None:
        self._process, self._stop = process, stop

    def end(self) -> list[dict[str, Any]]:
        self._stop.touch()
        out, _ = self._process.communicate(timeout=120)
        assert self._process.returncode == 0, out
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


@contextmanager
def maintenance(path: Path, folder: Path) -> Iterator[Maintenance]:
    stop = folder / "stop"
    environment = os.environ | {
        "GEOSTRATA_STATE": str(folder / "state"),
        "DBT_PROFILES_DIR": str(ROOT / "profiles"),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", LOOP, str(path), str(stop)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "ready\n":
                break
        yield Maintenance(process, stop)
    finally:
        stop.touch()
        if process.poll() is None:
            process.kill()


def test_ten_writers_and_maintenance(tmp_path: Path) -> None:
    writers = Writers(tmp_path / "shared", rounds=15)
    writers.prepare()
    with maintenance(writers.path, tmp_path) as beside:
        for thread in writers.start():
            thread.join()
        # A while longer, so that something is maintained in any case.
        time.sleep(5)
        statements = beside.end()
    assert writers.errors == []
    assert len(writers.acknowledged) == 150
    assert writers.lost() == []
    assert {key: row["value"] for key, row in content(writers.path).items()} == writers.expected
    assert [row["status"] for row in statements].count("done") >= 1
    # Whatever did not work was tried five times, and is reported.
    assert all(row["status"] == "done" or (row["tries"] == 5 and row["error"]) for row in statements), (
        statements
    )


def test_merge_and_stream_of_spark_beside_maintenance(bench: LifecycleBench, tmp_path: Path) -> None:
    """The other process is a dbt-like one, which holds the embedded metastore meanwhile."""
    bench.run({"anything": "select 1 as one"})
    spark = SharedEngine().handle().spark
    path, landed = tmp_path / "shared", tmp_path / "landed"
    landed.mkdir()
    spark.sql(f"create table delta.`{path}` (shape_id bigint, value string) using delta")
    for part in range(20):
        spark.sql(f"insert into delta.`{path}` select id, 'first' from range({part * 10}, {part * 10 + 10})")
    stream = (
        spark.readStream.schema("shape_id bigint, value string")
        .json(str(landed))
        .writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start(str(path))
    )
    expected = dict.fromkeys(range(200), "first")
    try:
        with maintenance(path, tmp_path) as beside:
            for number in range(5):
                rows = [{"shape_id": 1000 + number * 5 + k, "value": "streamed"} for k in range(5)]
                (landed / f"{number}.json").write_text("\n".join(json.dumps(row) for row in rows))
                expected |= {row["shape_id"]: "streamed" for row in rows}
                low = number * 20
                merge(spark, path, low, low + 30, f"merged {number}")
                expected |= dict.fromkeys(range(low, low + 30), f"merged {number}")
            stream.processAllAvailable()
            statements = beside.end()
    finally:
        stream.stop()
    assert stream.exception() is None
    assert {key: row["value"] for key, row in content(path).items()} == expected
    assert all(row["status"] == "done" or (row["tries"] == 5 and row["error"]) for row in statements), (
        statements
    )


def merge(spark: Any, path: Path, low: int, high: int, value: str) -> None:
    from dbt.adapters.sedona.connections import SedonaCredentials, SessionHandle

    # As the adapter runs a model's statement: a conflict is tried again.
    handle = SessionHandle(spark, SedonaCredentials(schema="tried", conflict_retry_base_s=0.2))
    handle.execute(
        f"merge into delta.`{path}` as t using (select id as shape_id, '{value}' as value from range({low}, {high})) as s "
        "on t.shape_id = s.shape_id when matched then update set * when not matched then insert *"
    )
