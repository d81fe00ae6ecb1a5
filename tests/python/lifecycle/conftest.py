"""One project and one Spark session for all tests of how tables are laid out, kept and mended."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from geostrata import settings

# The workbench of the spatial tests serves here as well.
sys.path.append(str(Path(__file__).resolve().parents[1] / "spatial"))

from lifecycle_bench import LifecycleBench


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LifecycleBench]:
    with pytest.MonkeyPatch.context() as patch:
        made = LifecycleBench(tmp_path_factory.mktemp("the project"), tmp_path_factory.mktemp("the state"))
        made.write_project()
        patch.setenv(settings.STATE_VARIABLE, str(made.state))
        patch.chdir(made.project)
        yield made
        from dbt.adapters.sedona import session

        session.stop()
