"""What a session gives away and what it refuses: secrets, variables of the process, folders, Delta's active session."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.sedona import session

from geostrata.tables.engine import GivenEngine

SECRET = "planted secret = äöü#!: \\ 'x' 𝄞"  # noqa: S105  # planted


def in_thread(action: Any) -> Any:
    """A new thread of Python is a new thread of the JVM."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(action())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_every_thread_has_an_active_session(dbt: Any) -> None:
    """Delta asks the JVM's thread for it when a snapshot that was prefetched comes too late: a busy machine's dbt failed so."""
    dbt.write("models/one.sql", "select 1 as id")
    dbt.run("run")
    settings = session._root_settings
    assert settings is not None

    def is_active() -> bool:
        spark = session.thread_session(settings)
        active = spark._jvm.SparkSession.getActiveSession()
        return bool(active.isDefined() and active.get().equals(spark._jsparkSession))

    def is_handle_active() -> bool:
        handle = GivenEngine(session.root_session(settings)).handle()
        active = handle.spark._jvm.SparkSession.getActiveSession()
        return bool(active.isDefined() and active.get().equals(handle.spark._jsparkSession))

    assert in_thread(is_active) is True
    assert in_thread(is_handle_active) is True


def test_text_is_no_template(dbt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dbt.write("models/said.sql", "select '${env:HOME} ${spark.app.name} ${system:user.name}' as text")
    dbt.write(
        "models/one.py", "def model(dbt, session):\n    return session.sql(\"select '${env:HOME}' as text\")"
    )
    dbt.run("run")
    assert dbt.sql("select text from {schema}.said") == [
        ("${env:HOME} ${spark.app.name} ${system:user.name}",)
    ]
    assert dbt.sql("select text from {schema}.one") == [("${env:HOME}",)]


@pytest.mark.parametrize(
    "statement",
    [
        "set spark.hadoop.delta.enableFastS3AListFrom = true",
        "SET\n `delta.enableFastS3AListFrom`=true",
        "set spark.sql.variable.substitute=true",
    ],
)
def test_what_makes_answers_wrong_is_refused_in_a_hook(dbt: Any, statement: str) -> None:
    dbt.write("models/one.sql", f"{{{{ config(pre_hook={statement!r}) }}}} select 1 as id")
    assert "is refused" in dbt.messages("run")["one"]


def test_what_makes_answers_wrong_is_refused_as_a_property(dbt: Any) -> None:
    dbt.write(
        "models/one.sql", "{{ config(tblproperties={'delta.enableFastS3AListFrom': 'true'}) }} select 1 as id"
    )
    assert "delta.enableFastS3AListFrom is refused" in dbt.messages("run")["one"]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A session in a process of its own, with a secret in its profile and a state folder that is open to all."""
    state = tmp_path_factory.mktemp("wide open") / "state"
    for folder in (state, state / "warehouse", state / "logs"):
        folder.mkdir()
        folder.chmod(0o777)
    code = """
        import sys
        from pathlib import Path
        from dbt.adapters.sedona import session
        from pyspark import SparkContext
        state, secret = Path(sys.argv[1]), sys.argv[2]
        settings = session.SessionSettings("local[1]", state, state / "logs", "1g", (),
            (("spark.hadoop.fs.s3a.secret.key", secret), ("parquet.page.row.count.limit", "77")))
        spark = session.thread_session(settings)
        spark.sql("create table planted using delta as select 1 as id")
        jvm = SparkContext._gateway.proc.pid
        for line in (Path(f"/proc/{jvm}/cmdline").read_text(), Path(f"/proc/{jvm}/environ").read_text()):
            print("|", line.replace("\\n", " "))
        print("|", spark._jsc.hadoopConfiguration().get("fs.s3a.secret.key") == secret)
        print("|", spark.sparkContext.getConf().get("parquet.page.row.count.limit"))
        print("|", [str(path) for path in state.rglob("spark.properties")])
        session.stop()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(state), SECRET],
        capture_output=True,
        text=True,
        timeout=600,
    )
    lines = [line[2:] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert len(lines) == 5, done.stderr
    return {
        "state": str(state),
        **dict(zip(("command", "environ", "is_passed_on", "limit", "left"), lines, strict=True)),
    }


def test_no_secret_stands_on_a_command_line(started: dict[str, str]) -> None:
    assert started["is_passed_on"] == "True"
    assert "planted secret" not in started["command"]
    assert "planted secret" not in started["environ"]
    assert (started["limit"], started["left"]) == ("77", "[]")


def test_folders_of_the_state_are_their_users(started: dict[str, str]) -> None:
    state = Path(started["state"])
    for name in ("warehouse", "metastore", "logs", "tmp"):
        assert stat.S_IMODE((state / name).stat().st_mode) == 0o700, name
    assert os.access(state / "metastore", os.W_OK)
