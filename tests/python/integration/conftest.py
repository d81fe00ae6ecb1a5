"""One small town, built once by plain dbt in one Spark session; tests ask what the tables show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from town import Town

from geostrata import demo, settings


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with pytest.MonkeyPatch.context() as patch:
        state = tmp_path_factory.mktemp("the state")
        patch.setenv(settings.STATE_VARIABLE, str(state))
        patch.chdir(settings.project_dir())
        demo.generate(state / "landing", scale=0.02, seed=7)
        town = Town(state)
        town.dbt("build")
        assert town.as_built.gold
        yield town
        from dbt.adapters.sedona import session

        session.stop()
