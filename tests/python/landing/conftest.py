"""One lakehouse for all tests of landing, in one Spark session."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from lakehouse import Lakehouse
from project_files import FORMATS

from geostrata import settings


@pytest.fixture(scope="session")
def lakehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lakehouse]:
    with pytest.MonkeyPatch.context() as patch:
        house = Lakehouse(
            tmp_path_factory.mktemp("the project"), tmp_path_factory.mktemp("the state"), _free_port()
        )
        house.write_project()
        patch.setenv(settings.STATE_VARIABLE, str(house.state))
        patch.chdir(house.project)
        for name in ("signs", "stops", *(f"things/{name}" for name in FORMATS)):
            (house.landing / name).mkdir(parents=True)
        house.dbt("seed")
        # Folders that hold nothing yet are no reason to fail.
        house.dbt("run")
        yield house
        from dbt.adapters.sedona import session

        session.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
