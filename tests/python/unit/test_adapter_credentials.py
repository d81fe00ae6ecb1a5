"""The profile: defaults, what is refused, and what it makes of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.sedona import session
from dbt.adapters.sedona.connections import SedonaCredentials
from dbt.adapters.sedona.java import JavaHome
from dbt_common.exceptions import DbtRuntimeError


def credentials(**fields: Any) -> SedonaCredentials:
    data = {"schema": "town", **fields}
    SedonaCredentials.validate(data)
    return SedonaCredentials.from_dict(data)


def test_a_schema_is_all_a_profile_needs() -> None:
    made = credentials()
    assert made.type == "sedona"
    assert made.method == "session"
    assert made.master == "local[*]"
    assert made.retry_policy == (made.retry_policy.__class__)(retries=5, base_s=2.0, cap_s=30.0)
    assert {"method", "master", "schema", "state_dir"} == set(made._connection_keys())


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(DbtRuntimeError, match="masterr is unknown to dbt-sedona: did you mean master"):
        credentials(masterr="local[2]")
    with pytest.raises(DbtRuntimeError, match=r"Known are: .*state_dir"):
        credentials(xyz=1)


@pytest.mark.parametrize("master", ["lokal[2]", "local[x]", "", "http://somewhere"])
def test_a_bad_master_is_refused_in_one_line(master: str) -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        credentials(master=master)
    assert f"master: '{master}'" in caught.value.msg
    assert "local[*]" in caught.value.msg
    assert "\n" not in caught.value.msg


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[*]",
        "local[4]",
        "local[2,3]",
        "spark://host:7077",
        "spark://a:1,b:2",
        "yarn",
        "k8s://https://host",
    ],
)
def test_masters_that_spark_knows(master: str) -> None:
    assert credentials(master=master).master == master


@pytest.mark.parametrize("field", ["conflict_retries", "conflict_retry_base_s", "conflict_retry_cap_s"])
def test_retries_are_not_negative(field: str) -> None:
    with pytest.raises(DbtRuntimeError, match=field):
        credentials(**{field: -1})


def test_folders_are_the_projects(tmp_path: Path) -> None:
    settings = credentials(state_dir="state", log_dir="logs").session_settings(tmp_path)
    assert settings.state_dir == tmp_path / "state"
    assert settings.log_dir == tmp_path / "logs"
    assert credentials(state_dir="/elsewhere").session_settings(tmp_path).log_dir == Path("/elsewhere/logs")


def test_equal_profiles_share_a_session(tmp_path: Path) -> None:
    one = credentials(spark_config={"a": 1, "b": True})
    two = credentials(spark_config={"b": "true", "a": "1"})
    assert one.session_settings(tmp_path) == two.session_settings(tmp_path)


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setattr(session, "find_java", lambda: JavaHome(Path("/java"), 17, packaged=False))
    monkeypatch.setattr(session, "launcher_home", lambda java, folder: Path("/launcher"))
    monkeypatch.setattr(session, "jar_paths", lambda: [Path("/jars/a.jar"), Path("/jars/b.jar")])
    monkeypatch.setattr(session.class_archive, "jvm_options", lambda java: ["-XX:SharedArchiveFile=/x.jsa"])
    return lambda **fields: session.launch_plan(credentials(**fields).session_settings(tmp_path))


def test_a_local_session_is_tuned_and_reaches_no_further_than_this_machine(plan: Any) -> None:
    config, environment = plan(master="local[2]")
    assert config["spark.driver.bindAddress"] == "127.0.0.1"
    assert config["spark.ui.enabled"] == "false"
    assert environment["SPARK_DIST_CLASSPATH"] == "/jars/a.jar:/jars/b.jar"
    assert "-XX:SharedArchiveFile=/x.jsa" in config["spark.driver.extraJavaOptions"]
    assert "spark.jars" not in config


def test_a_cluster_gets_the_jars_and_none_of_the_local_settings(plan: Any) -> None:
    config, environment = plan(master="spark://host:7077")
    assert config["spark.jars"] == "/jars/a.jar,/jars/b.jar"
    assert not set(session.LOCAL_SETTINGS) & set(config)
    assert "SPARK_LOCAL_IP" not in environment
    assert "SharedArchiveFile" not in config["spark.driver.extraJavaOptions"]


def test_the_profile_has_the_last_word(plan: Any) -> None:
    config, _ = plan(
        spark_config={
            "spark.sql.shuffle.partitions": 64,
            "spark.ui.enabled": True,
            "spark.driver.extraJavaOptions": "-Dmine=1",
        }
    )
    assert config["spark.sql.shuffle.partitions"] == "64"
    # Spark wants its booleans in lower case.
    assert config["spark.ui.enabled"] == "true"
    assert config["spark.driver.extraJavaOptions"].endswith("-Dmine=1")
    assert "-Djts.overlay=ng" in config["spark.driver.extraJavaOptions"]


def test_ansi_mode_is_the_profiles_choice() -> None:
    """dbt-spark switches it off whatever the profile says."""
    assert credentials().server_side_parameters["spark.sql.ansi.enabled"] == "false"
    chosen = credentials(spark_config={"spark.sql.ansi.enabled": True})
    assert chosen.server_side_parameters["spark.sql.ansi.enabled"] == "true"


@pytest.mark.parametrize("place", ["spark_config", "server_side_parameters"])
@pytest.mark.parametrize(
    "name",
    [
        "delta.enableFastS3AListFrom",
        "spark.hadoop.delta.enableFastS3AListFrom",
        "spark.sql.variable.substitute",
    ],
)
def test_settings_that_make_answers_wrong_are_refused(place: str, name: str) -> None:
    with pytest.raises(DbtRuntimeError, match=f"{place}: {name} is refused"):
        credentials(**{place: {name: "true"}})
    assert credentials(**{place: {name: "false"}})


def test_a_server_s_sessions_replace_no_variables() -> None:
    made = credentials()
    assert made.server_side_parameters["spark.sql.variable.substitute"] == "false"
