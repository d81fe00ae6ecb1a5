"""Python macros, Python models and hooks in the shared session."""

from __future__ import annotations

from typing import Any

MACROS = """
import pandas as pd

from dbt.adapters.sedona.python_macros import returns


def shout(text: str) -> str:
    return text.upper()


@returns("bigint")
def plus_one(number: pd.Series) -> pd.Series:
    return number + 1


@returns("struct<x: double, y: double>")
def corner(x: float):
    return {"x": x, "y": -x}
"""


def test_python_macros_are_sql_functions(dbt: Any) -> None:
    dbt.write("macros/python/text.py", MACROS)
    dbt.write("models/t.sql", "select shout('a') as a, plus_one(id) as b, corner(1.5D) as c from range(3)")
    # A permanent view may use them, as it may use Spark's own functions.
    dbt.write(
        "models/v.sql",
        "{{ config(materialized='view') }} select shout(a) as a, b, c.y as y from {{ ref('t') }}",
    )
    dbt.run("run")
    assert dbt.sql("select * from {schema}.v order by b") == [("A", 1, -1.5), ("A", 2, -1.5), ("A", 3, -1.5)]


def test_a_failing_python_macro_is_named(dbt: Any) -> None:
    dbt.write("macros/python/text.py", "def burst(number: int) -> int:\n    return 1 // (number - number)\n")
    dbt.write("models/t.sql", "select burst(id) as a from range(3)")
    message = dbt.messages("run")["t"]
    place = f"Python function burst failed at {dbt.root}/macros/python/text.py, line 2: ZeroDivisionError"
    assert place in message
    assert "Traceback" not in message


def test_a_python_macro_file_that_does_not_load(dbt: Any) -> None:
    dbt.write("macros/python/text.py", "import nowhere_to_be_found\n")
    dbt.write("models/t.sql", "select 1 as a")
    result = dbt.root / "macros" / "python" / "text.py"
    from dbt.cli.main import dbtRunner

    done = dbtRunner().invoke(dbt.arguments("run"))
    assert not done.success
    assert f"{result}, line 1 could not be loaded: ModuleNotFoundError" in str(done.exception)


def test_a_python_model_as_table(dbt: Any) -> None:
    dbt.write("models/a.sql", "select id, st_asbinary(st_point(id, id)) as geometry from range(4)")
    dbt.write(
        "models/b.py",
        """
        def model(dbt, session):
            dbt.config(materialized="table", file_format="delta")
            frame = dbt.ref("a")
            return frame.selectExpr("id", "st_x(st_geomfromwkb(geometry)) as x").where("id > 1")
        """,
    )
    dbt.run("run")
    assert dbt.sql("select * from {schema}.b order by id") == [(2, 2.0), (3, 3.0)]


def test_a_python_model_merges_on_its_second_run(dbt: Any) -> None:
    dbt.write(
        "models/b.py",
        """
        import pandas as pd


        def model(dbt, session):
            dbt.config(
                materialized="incremental", file_format="delta", incremental_strategy="merge", unique_key="id"
            )
            if dbt.is_incremental:
                return pd.DataFrame({"id": [2, 3], "name": ["second", "third"]})
            return pd.DataFrame({"id": [1, 2], "name": ["one", "two"]})
        """,
    )
    dbt.run("run")
    dbt.run("run")
    assert dbt.sql("select * from {schema}.b order by id") == [(1, "one"), (2, "second"), (3, "third")]
    # The staging table is gone.
    assert dbt.sql("show tables in {schema}") == [(dbt.schema, "b", False)]


def test_a_failing_python_model_names_its_line(dbt: Any) -> None:
    dbt.write(
        "models/b.py", "def model(dbt, session):\n    dbt.config(materialized='table')\n    return 1 / 0\n"
    )
    message = dbt.messages("run")["b"]
    assert "line 3: ZeroDivisionError: division by zero" in message


def test_a_hook_that_is_a_bare_select_runs(dbt: Any) -> None:
    mark = dbt.root / "ran"
    dbt.write(
        "macros/python/mark.py",
        f"def leave_mark(x: int) -> int:\n    open({str(mark)!r}, 'w').close()\n    return x\n",
    )
    dbt.write("models/t.sql", "{{ config(post_hook='select leave_mark(id) from range(1)') }} select 1 as id")
    dbt.run("run")
    assert mark.exists()


def test_settings_stay_in_their_thread(dbt: Any) -> None:
    """Two models run at once; what one sets in its hook, the other must not see."""
    wait = "{{ config(pre_hook='set spark.sql.session.timeZone = Asia/Tokyo') }} "
    dbt.write(
        "macros/python/nap.py", "import time\n\n\ndef nap(x: int) -> int:\n    time.sleep(2)\n    return x\n"
    )
    zone = "select current_timezone() as zone, nap(id) as id from range(1)"
    dbt.write("models/a.sql", wait + zone)
    dbt.write("models/b.sql", zone)
    dbt.run("run")
    assert dbt.sql("select zone from {schema}.a") == [("Asia/Tokyo",)]
    assert dbt.sql("select zone from {schema}.b") == [("UTC",)]


def test_an_error_is_one_line_with_its_class(dbt: Any) -> None:
    dbt.write("models/t.sql", "select nothing from range(1)")
    message = dbt.messages("run")["t"]
    assert message.startswith(
        "Database Error in model t (models/t.sql)\n  [UNRESOLVED_COLUMN.WITH_SUGGESTION] "
    )
    # dbt's own heading, ours, and where dbt put the compiled code.
    assert len(message.splitlines()) == 3
    assert "== SQL" not in message
    assert "Project [" not in message
