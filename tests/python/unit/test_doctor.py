"""The doctor's checks, each against a real fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from geostrata import doctor
from geostrata.doctor import Level

ROOT = Path(__file__).resolve().parents[3]
LOCK = ROOT / "requirements.lock"

PROFILES = """
geostrata:
  target: local
  outputs:
    local: {type: spark, method: session, host: none, schema: "{{ env_var('NOT_SET', 'geostrata') }}"}
"""


def examine(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # From a folder below the project: it is found from there as well. The test's own settings must not lead elsewhere.
    inside = project / "models"
    inside.mkdir(exist_ok=True)
    drop = ("GEOSTRATA_STATE", "DBT_PROFILES_DIR", "DBT_TARGET")
    env = {key: value for key, value in os.environ.items() if key not in drop}
    command = [sys.executable, "-m", "geostrata.cli", "doctor", *arguments]
    return subprocess.run(
        command, cwd=inside, env=env | variables, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "dbt_project.yml").write_text("name: geostrata\nprofile: geostrata\n")
    (tmp_path / "requirements.lock").write_bytes(LOCK.read_bytes())
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "profiles.yml").write_text(PROFILES)
    return tmp_path


def test_a_sound_project_passes(project: Path) -> None:
    done = examine(project, "--json")
    findings = {finding["check"]: finding for finding in json.loads(done.stdout)}
    assert list(findings) == [
        "python",
        "environment",
        "java",
        "jars",
        "state folder",
        "disk",
        "memory",
        "network",
        "metastore",
        "dbt",
    ]
    assert [finding for finding in findings.values() if finding["level"] == "FAIL"] == []
    assert findings["dbt"]["message"] == "project geostrata, target local (type spark)"
    assert done.returncode == 0
    # Looking changes nothing.
    assert not (project / ".geostrata").exists()


def test_a_broken_profile_is_one_line_and_exit_code_1(project: Path) -> None:
    (project / "profiles" / "profiles.yml").write_text(PROFILES.replace("schema:", "scheme:"))
    done = examine(project)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert len(lines) == 10
    assert lines[-1].startswith("FAIL  dbt: ")
    assert str(project / "profiles" / "profiles.yml") in lines[-1]
    assert "Traceback" not in done.stdout + done.stderr


def test_the_environment_equals_the_lock() -> None:
    finding = doctor.check_environment(LOCK)
    assert finding.level is Level.OK, finding.message


def test_a_missing_and_a_different_package_are_named(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(
        "pytest==0.0.1 \\\n    --hash=sha256:0\nnot-a-package==1 ; sys_platform != 'nowhere' \\\n    --hash=sha256:0\n"
        "not-for-us==1 ; sys_platform == 'nowhere' \\\n    --hash=sha256:0\n"
    )
    finding = doctor.check_environment(lock)
    assert finding.level is Level.FAIL
    assert f"pytest {pytest.__version__}, not-a-package is missing" in finding.message
    assert "not-for-us" not in finding.message
    assert "make clean-env setup" in finding.message


def test_jars_not_yet_here_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_SEDONA_CACHE", str(tmp_path))
    assert doctor.check_jars().level is Level.WARN


def test_a_damaged_jar_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbt.adapters.sedona import jars

    monkeypatch.setenv("DBT_SEDONA_CACHE", str(tmp_path))
    folder = jars.cache_dir() / "jars"
    folder.mkdir(parents=True)
    for jar in jars.JARS:
        (folder / jar.file_name).write_bytes(b"cut off")
    finding = doctor.check_jars()
    assert finding.level is Level.FAIL
    assert str(folder / jars.JARS[0].file_name) in finding.message


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that root can't write to either")
def test_a_state_folder_that_cannot_be_written() -> None:
    finding = doctor.check_state(Path("/proc/geostrata"))
    assert finding.level is Level.FAIL
    assert "GEOSTRATA_STATE" in finding.message


def test_a_state_folder_yet_to_be_made(tmp_path: Path) -> None:
    state = tmp_path / "a" / "b"
    assert doctor.check_state(state).level is Level.OK
    assert not state.parent.exists()


def test_too_little_disk(tmp_path: Path) -> None:
    finding = doctor.check_disk(tmp_path, minimum_gb=1e9)
    assert finding.level is Level.FAIL
    assert "1000000000 GB needed" in finding.message


def test_too_little_memory() -> None:
    assert doctor.check_memory(minimum_gb=1e9).level is Level.WARN


# A name that means nothing, and an address of no machine (RFC 5737).
@pytest.mark.parametrize("host", ["nowhere.invalid", "192.0.2.1"])
def test_a_host_name_that_leads_nowhere(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", host)
    finding = doctor.check_network()
    assert finding.level is Level.FAIL
    assert host in finding.message
    assert "SPARK_LOCAL_IP=127.0.0.1" in finding.message


def test_a_metastore_in_use_names_the_process(tmp_path: Path) -> None:
    lock = tmp_path / "dbex.lck"
    lock.write_bytes(b"")
    # As Java does it: a POSIX lock on the whole file.
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX); print(); input()",
            str(lock),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    finding = doctor.check_metastore(tmp_path)
    holder.communicate(b"\n")
    assert finding.level is Level.FAIL
    assert f"process {holder.pid}" in finding.message
    # What a killed process leaves behind is a file, not a lock.
    assert doctor.check_metastore(tmp_path).level is Level.OK


def test_no_metastore_yet(tmp_path: Path) -> None:
    assert doctor.check_metastore(tmp_path / "metastore").level is Level.OK
