"""dbt's own conformance suite and our integration tests, on one Spark session for the whole process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

# A star import instead of `pytest_plugins`, which pytest allows in the topmost conftest only.
from dbt.tests.fixtures.project import *  # noqa: F403
from dbt.tests.util import write_file

# What a model, seed or snapshot of these tests is stored as: dbt-spark's own default is no Delta table.
DELTA = {"+file_format": "delta"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.adapter)
            # dbt-tests-adapter defines its fixtures so; it is theirs to change.
            item.add_marker(pytest.mark.filterwarnings("ignore:Class-scoped fixtures defined as instance"))


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Warehouse and metastore of the process. One folder, because another one means another JVM."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="session", autouse=True)
def _stop_spark_at_the_end() -> Any:
    yield
    from dbt.adapters.sedona import session

    session.stop()


@pytest.fixture(scope="class")
def dbt_profile_target(state_dir: Path) -> dict[str, Any]:
    return {
        "type": "sedona",
        "master": "local[2]",
        "threads": 2,
        "state_dir": str(state_dir),
        "driver_memory": "2g",
        # The tables have a handful of rows.
        "spark_config": {"spark.sql.shuffle.partitions": 1, "spark.databricks.delta.snapshotPartitions": 1},
    }


@pytest.fixture(scope="class")
def profile_user() -> str:
    import getpass

    return getpass.getuser()


@pytest.fixture(scope="class")
def dbt_project_yml(project_root: Any, project_config_update: Any) -> dict[str, Any]:
    """As dbt's own fixture, with Delta as the file format beneath whatever a test sets."""
    config: dict[str, Any] = {
        "name": "test",
        "profile": "test",
        "flags": {"send_anonymous_usage_stats": False},
    }
    if isinstance(project_config_update, str):
        project_config_update = yaml.safe_load(project_config_update)
    config.update(project_config_update or {})
    for kind in ("models", "seeds", "snapshots"):
        config[kind] = {**DELTA, **config.get(kind, {})}
    write_file(yaml.safe_dump(config), project_root, "dbt_project.yml")
    return config


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch_class: pytest.MonkeyPatch) -> str:
    folder = str(tmp_path_factory.mktemp("logs"))
    monkeypatch_class.setenv("DBT_LOG_PATH", folder)
    return folder


@pytest.fixture(scope="class")
def monkeypatch_class() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        yield patch
