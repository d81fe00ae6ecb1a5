"""One project and one Spark session for all tests of spatial SQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from workbench import Workbench

from geostrata import settings


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    with pytest.MonkeyPatch.context() as patch:
        made = Workbench(tmp_path_factory.mktemp("the project"), tmp_path_factory.mktemp("the state"))
        made.write_project()
        patch.setenv(settings.STATE_VARIABLE, str(made.state))
        patch.chdir(made.project)
        yield made
        from dbt.adapters.sedona import session

        session.stop()
