"""Plain `dbt` as a process: what stays readable for the next one, what it prints, and what Ctrl-C leaves behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

# Signs that a JVM, Spark or Python let its own words through.
NOISE = re.compile(
    r"\bWARN\b(?!=)|Traceback|Exception in|\tat |java\.|WARNING:|log4j|SQLQueryContext|Setting default log"
)


@pytest.fixture(scope="module")
def town(apart: Any) -> Any:
    """Everything that may use ST_, built once by a first process and once more by a second."""
    apart.write(
        "models/points.sql",
        "select id, st_asbinary(st_point(id, {{ var('y', 1) }})) as geometry from range(4)",
    )
    view = "{{ config(materialized='view') }} "
    apart.write(
        "models/texts.sql",
        view + "select id, st_astext(st_geomfromwkb(geometry)) as wkt from {{ ref('points') }}",
    )
    apart.write(
        "models/boxes.sql",
        view
        + """
        select
            st_astext(st_envelope_aggr(st_geomfromwkb(geometry))) as box,
            st_npoints(st_union_aggr(st_geomfromwkb(geometry))) as point_count,
            max({{ target.schema }}.x_of(geometry)) as x
        from {{ ref('points') }}
        """,
    )
    apart.write(
        "snapshots/moves.sql",
        """
        {% snapshot moves %}
        {{ config(strategy='check', unique_key='id', check_cols=['wkt'], target_schema=target.schema) }}
        select id, st_astext(st_geomfromwkb(geometry)) as wkt from {{ ref('points') }}
        {% endsnapshot %}
        """,
    )
    apart.write(
        "macros/make_function.sql",
        """
        {% macro make_function() %}
            create or replace function {{ target.schema }}.x_of(geometry binary)
            returns double return st_x(st_geomfromwkb(geometry))
        {% endmacro %}
        """,
    )
    apart.write(
        "macros/python/text.py", "def burst(number: int) -> int:\n    return 1 // (number - number)\n"
    )
    project = (apart.root / "dbt_project.yml").read_text()
    apart.write("dbt_project.yml", project + "on-run-start: ['{{ make_function() }}']\n")
    return apart


@pytest.fixture(scope="module")
def first(town: Any) -> subprocess.CompletedProcess[str]:
    return town.process("build")


@pytest.fixture(scope="module")
def second(first: subprocess.CompletedProcess[str], town: Any) -> subprocess.CompletedProcess[str]:
    """A second process: changed data, and two models that must fail, one in the plan and one in a Python function."""
    town.write("models/broken.sql", "select nothing_of_that_name from {{ ref('points') }}")
    town.write("models/bursting.sql", "select burst(id) as n from {{ ref('points') }}")
    done = town.process("build", "--vars", "{y: 2}")
    (town.root / "models" / "broken.sql").unlink()
    (town.root / "models" / "bursting.sql").unlink()
    return done


def test_a_good_run_is_calm(first: subprocess.CompletedProcess[str]) -> None:
    assert first.returncode == 0, first.stdout
    assert "PASS=5" in first.stdout
    assert not NOISE.search(first.stdout), first.stdout
    assert first.stderr == ""


def test_a_failing_run_says_it_in_a_line_each(second: subprocess.CompletedProcess[str], town: Any) -> None:
    assert second.returncode == 1
    assert "ERROR=2" in second.stdout
    assert not NOISE.search(second.stdout), second.stdout
    assert second.stderr == ""
    assert "Database Error in model broken (models/broken.sql)" in second.stdout
    assert "[UNRESOLVED_COLUMN.WITH_SUGGESTION]" in second.stdout
    place = f"{town.root}/macros/python/text.py, line 2"
    assert f"Python function burst failed at {place}: ZeroDivisionError" in second.stdout


def test_views_snapshots_and_functions_are_readable_from_a_new_process(
    second: subprocess.CompletedProcess[str], town: Any
) -> None:
    query = """
        select
            concat_ws(';', box, point_count, x, x_of(st_asbinary(st_point(7, 7)))) as answer,
            (select count(*) from texts) as texts,
            (select max(wkt) from texts) as newest,
            (select count(*) from moves) as moves,
            (select count(*) from moves where dbt_valid_to is null) as present
        from boxes
    """
    query = re.sub(r"\b(x_of\(|texts\b(?=[);])|moves\b(?= where|\))|boxes\b)", r"town.\1", query)
    done = town.process("show", "--inline", query, "--output", "json", "--quiet")
    assert done.returncode == 0, done.stdout
    assert "POLYGON ((0 2, 0 2, 3 2, 3 2, 0 2));4;3.0;7.0" in done.stdout
    assert '"newest": "POINT (3 2)"' in done.stdout
    # Four points, each moved once by the second process.
    assert '"moves": 8' in done.stdout
    assert '"present": 4' in done.stdout


@pytest.fixture
def slow(tmp_path: Path, apart: Any) -> Any:
    made = apart.__class__(tmp_path, tmp_path / "state", "town")
    made.write(
        "macros/python/nap.py",
        f"""
        import pathlib
        import time


        def nap(number: int) -> int:
            if number >= 0:
                pathlib.Path({str(tmp_path / "started")!r}).touch()
                time.sleep(1)
            return number
        """,
    )
    made.write(
        "models/t.sql",
        "{{ config(materialized='table') }} select nap(id) as id from range({{ var('from', -3) }}, {{ var('to', 0) }})",
    )
    return made


def test_ctrl_c_cancels_and_leaves_the_table_as_it_was(slow: Any) -> None:
    assert slow.process("run").returncode == 0
    log = slow.root / "state" / "warehouse" / "town.db" / "t" / "_delta_log"
    commits = sorted(path.name for path in log.glob("*.json"))
    command = slow.command("run", "--vars", "{from: 0, to: 1000}")
    process = subprocess.Popen(
        command,
        cwd=slow.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests themselves run in the background, a shell has them ignore it, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not (slow.root / "started").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    # As a terminal does it: to dbt and to all that it started.
    os.killpg(process.pid, signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 15
    assert process.returncode != 0
    # dbt itself shows where it was interrupted; Spark and Java must not.
    assert "Exited because of keyboard interrupt" in out
    assert not re.search(r"py4j|java\.|\tat ", out + err), out + err
    assert sorted(path.name for path in log.glob("*.json")) == commits
    assert not _group_is_alive(process.pid)

    done = slow.process("run")
    assert done.returncode == 0, done.stdout
    assert sorted(path.name for path in log.glob("*.json")) == [*commits, f"{len(commits):020d}.json"]


def _group_is_alive(group: int) -> bool:
    """The JVM must be gone too, or the next run finds the metastore locked."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True
