"""Calls dbt in this process, so that one Spark session serves a whole run."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

from geostrata import settings
from geostrata.errors import GeostrataError

Listener = Callable[[Any], None]


def invoke(arguments: list[str], listener: Listener | None = None) -> Any:
    """Runs a dbt command quietly; returns dbt's own result object, whether it succeeded or not."""
    from dbt.cli.main import dbtRunner

    places = ["--project-dir", str(settings.project_dir()), "--profiles-dir", str(settings.profiles_dir())]
    logs = ["--log-path", str(settings.logs_dir())]
    return dbtRunner(callbacks=[listener] if listener else []).invoke(["--quiet", *logs, *arguments, *places])


def query(sql: str, target: str | None = None) -> list[dict[str, Any]]:
    """Rows of a query with `ref()`s, by `dbt show`."""
    chosen = ["--target", target] if target else []
    # `dbt show` prints its table as well; the rows are what we want.
    with contextlib.redirect_stdout(io.StringIO()):
        outcome = invoke(["show", "--limit", "-1", "--inline", sql, *chosen])
    if not outcome.success:
        raise GeostrataError(first_line(outcome))
    table = outcome.result.results[0].agate_table
    return [dict(zip(table.column_names, row.values(), strict=True)) for row in table.rows]


def first_line(outcome: Any) -> str:
    """What went wrong, in one line."""
    if outcome.exception is not None:
        return " ".join(str(outcome.exception).split())
    failed = [
        result for result in outcome.result.results if result.status in ("error", "fail", "runtime error")
    ]
    # An operation's result has no message: its error is in the log only.
    message = failed[0].message if failed else None
    return " ".join(message.split()) if message else f"dbt failed; see {settings.logs_dir() / 'dbt.log'}"
