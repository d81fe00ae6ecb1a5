"""The Spark session in which maintenance works: the profile's own settings, but no metastore that others use.

Statements name tables by path. The embedded metastore, which belongs to one process, stays free for a dbt run beside this.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from geostrata import settings
from geostrata.errors import GeostrataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Engine(Protocol):
    def handle(self) -> Any:
        """For the calling thread: execute(sql), fetchall(), cancel()."""

    def stop(self) -> None: ...


class SparkEngine:
    def __init__(self, target: str | None = None) -> None:
        from dbt.adapters.sedona import session

        self._credentials = _credentials(target)
        self._scratch = Path(tempfile.mkdtemp(prefix="geostrata-maintain-"))
        whole = self._credentials.session_settings(settings.project_dir())
        self._settings = dataclasses.replace(
            whole,
            state_dir=self._scratch,
            log_dir=settings.logs_dir() / "maintain",
            python_preload=(),
        )
        # Here, not in the first of many threads: what is wrong with the profile is told at once.
        session.root_session(self._settings)

    def handle(self) -> Any:
        from dbt.adapters.sedona import session
        from dbt.adapters.sedona.connections import SessionHandle

        return SessionHandle(session.thread_session(self._settings), self._credentials)

    def stop(self) -> None:
        from dbt.adapters.sedona import session

        session.stop()
        shutil.rmtree(self._scratch, ignore_errors=True)


class GivenEngine:
    """A session that is there already: that of a dbt run, which needs no second JVM."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def handle(self) -> Any:
        from dbt.adapters.sedona.connections import SedonaCredentials, SessionHandle

        # A child session, so that its settings are its own.
        return SessionHandle(
            self._spark.newSession(), SedonaCredentials(schema="default", conflict_retries=0)
        )

    def stop(self) -> None:
        """It belongs to who gave it."""


def _credentials(target: str | None) -> Any:
    """Of the profile, as dbt reads it. Conflicts are retried by who calls, and counted."""
    from dbt.adapters.spark.connections import SparkConnectionMethod
    from dbt.config.runtime import load_profile
    from dbt.flags import set_from_args
    from dbt_common.context import set_invocation_context
    from dbt_common.exceptions import DbtBaseException

    set_invocation_context(os.environ)
    set_from_args(argparse.Namespace(PROFILES_DIR=str(settings.profiles_dir())), None)
    try:
        credentials = load_profile(str(settings.project_dir()), {}, None, target, None).credentials
    except DbtBaseException as error:
        raise GeostrataError(f"the dbt profile can't be read: {' '.join(str(error).split())}") from error
    if credentials.type != "sedona" or credentials.method != SparkConnectionMethod.SESSION:
        raise GeostrataError(
            "maintenance needs a Spark session of its own: choose a target with `type: sedona` and `method: session`"
        )
    return dataclasses.replace(credentials, conflict_retries=0)
