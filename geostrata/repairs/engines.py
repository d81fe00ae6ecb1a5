"""The Spark session of a repair: by path, beside a running dbt, unless a table comes or goes in the catalog."""

from __future__ import annotations

from typing import Any

from geostrata import doctor, settings
from geostrata.errors import GeostrataError
from geostrata.tables.engine import Engine, GivenEngine, SparkEngine


def open_engine(target: str | None, with_catalog: bool) -> Engine:
    return CatalogEngine(target) if with_catalog else SparkEngine(target)


class CatalogEngine(GivenEngine):
    """With the project's own metastore, which the embedded one lends to one process at a time."""

    def __init__(self, target: str | None) -> None:
        found = doctor.check_metastore(settings.metastore_dir())
        if found.level is doctor.Level.FAIL:
            raise GeostrataError(f"clone and drop need the metastore, which is {found.message}")
        super().__init__(_session(target))

    def stop(self) -> None:
        from dbt.adapters.sedona import session

        session.stop()


def one_line(error: Exception) -> str:
    """What Spark or dbt says, without plans and traces."""
    from dbt.adapters.sedona import errors
    from dbt_common.exceptions import DbtRuntimeError

    if isinstance(error, DbtRuntimeError):
        return " ".join(str(error.msg).split())
    return " ".join(str(error).split()) if isinstance(error, GeostrataError) else errors.one_line(error)


def _session(target: str | None) -> Any:
    from dbt.adapters.sedona import session

    from geostrata.tables import engine

    whole = engine._credentials(target).session_settings(settings.project_dir())
    return session.root_session(whole)
