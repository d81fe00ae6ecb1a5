"""dbt's own conformance suite and our integration tests, on one Spark session for the whole process."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

# A star import instead of `pytest_plugins`, which pytest allows in the topmost conftest only.
from dbt.tests.fixtures.project import *  # noqa: F403
from dbt.tests.util import write_file

# What a model, seed or snapshot of these tests is stored as: dbt-spark's own default is no Delta table.
DELTA = {"+file_format": "delta"}
PROJECT = {
    "name": "town",
    "profile": "town",
    "models": {**DELTA, "+materialized": "table"},
    "snapshots": DELTA,
    "flags": {"send_anonymous_usage_stats": False},
}
# The tables have a handful of rows.
SPARK_CONFIG = {
    "spark.sql.shuffle.partitions": 1,
    "spark.databricks.delta.snapshotPartitions": 1,
    # Nothing here runs long enough to earn back what the optimising compiler costs.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
}


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
    # With a blank, as a person's folders have.
    return tmp_path_factory.mktemp("the state")


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
        "spark_config": SPARK_CONFIG,
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


class Dbt:
    """A small project of its own in the shared session: files in, results and rows out."""

    def __init__(self, root: Path, state_dir: Path, schema: str) -> None:
        self.root = root
        self.schema = schema
        self.write("dbt_project.yml", yaml.safe_dump(PROJECT))
        self.profile = {
            "type": "sedona",
            "schema": schema,
            "master": "local[2]",
            "threads": 2,
            "state_dir": str(state_dir),
            "driver_memory": "2g",
            "conflict_retry_base_s": 0.2,
            "spark_config": SPARK_CONFIG,
        }

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def write_profile(self) -> None:
        profile = {"town": {"target": "local", "outputs": {"local": self.profile}}}
        self.write("profiles.yml", yaml.safe_dump(profile))

    def arguments(self, *words: str) -> list[str]:
        self.write_profile()
        return [*words, "--project-dir", str(self.root), "--profiles-dir", str(self.root)]

    def run(self, *words: str, succeeds: bool = True) -> Any:
        """Runs dbt in this process; gives its result."""
        from dbt.cli.main import dbtRunner

        done = dbtRunner().invoke(["--log-path", str(self.root / "logs"), *self.arguments(*words)])
        nodes = getattr(done.result, "results", None) or []
        messages = done.exception or [node.message for node in nodes]
        assert done.success is succeeds, messages
        return done.result

    def messages(self, *words: str) -> dict[str, str]:
        """Runs dbt where something must fail; gives each node's message."""
        result = self.run(*words, succeeds=False)
        return {node.node.name: node.message for node in result.results}

    def process(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs plain `dbt` as a process of its own. Needs a state folder of its own, too."""
        return subprocess.run(
            self.command(*words), capture_output=True, text=True, cwd=self.root, timeout=300
        )

    def command(self, *words: str) -> list[str]:
        return [str(Path(sys.executable).with_name("dbt")), "--no-use-colors", *self.arguments(*words)]

    @property
    def spark(self) -> Any:
        from dbt.adapters.sedona import session

        assert session._root_settings is not None, "the session starts with the first dbt command"
        return session.thread_session(session._root_settings)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        rows = self.spark.sql(statement.format(schema=self.schema)).collect()
        return [tuple(row) for row in rows]

    def history(self, table: str) -> list[tuple[int, str, str | None]]:
        """Commits, newest first: version, operation, userMetadata."""
        rows = self.spark.sql(f"describe history {self.schema}.{table}").collect()
        return [(row["version"], row["operation"], row["userMetadata"]) for row in rows]


@pytest.fixture
def dbt(tmp_path: Path, state_dir: Path, request: pytest.FixtureRequest) -> Iterator[Dbt]:
    """A project in the shared session, in a schema that is dropped afterwards."""
    made = Dbt(tmp_path, state_dir, f"s{abs(hash(request.node.nodeid)):x}")
    yield made
    made.sql("drop schema if exists {schema} cascade")


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Dbt:
    """A project for processes of their own: the embedded metastore serves one process at a time."""
    root = tmp_path_factory.mktemp("apart from it")
    return Dbt(root, root / "state", "town")
