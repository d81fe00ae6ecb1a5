"""Jars: only the pinned files get into the cache."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from dbt.adapters.sedona import class_archive, jars
from dbt.adapters.sedona.jars import Jar
from dbt_common.exceptions import DbtRuntimeError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DBT_SEDONA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(class_archive, "environment_dir", lambda: tmp_path / "environment")
    return tmp_path / "cache" / "jars"


@pytest.fixture
def one_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A pin of one small file, and that file as the resolver would hand it over."""
    resolved = tmp_path / "resolved.jar"
    resolved.write_bytes(b"the pinned file")
    jar = Jar("org.example:thing_2.13:1.0", hashlib.sha256(b"the pinned file").hexdigest())
    monkeypatch.setattr(jars, "JARS", (jar,))
    monkeypatch.setattr(jars, "_resolve", lambda wanted: [resolved] if wanted else [])
    return resolved


def test_file_names_are_mavens() -> None:
    assert Jar("io.delta:delta-storage:4.4.0", "").file_name == "delta-storage-4.4.0.jar"


def test_a_fetched_jar_is_cached_and_not_fetched_again(
    cache: Path, one_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jars.jar_paths_if_cached() is None
    assert jars.jar_paths() == [cache / "thing_2.13-1.0.jar"]
    monkeypatch.setattr(jars, "_resolve", lambda wanted: pytest.fail(f"fetched again: {wanted}"))
    assert jars.jar_paths() == jars.jar_paths_if_cached() == [cache / "thing_2.13-1.0.jar"]


def test_another_file_is_refused_and_not_cached(cache: Path, one_jar: Path) -> None:
    one_jar.write_bytes(b"something else")
    with pytest.raises(DbtRuntimeError) as caught:
        jars.jar_paths()
    message = caught.value.msg
    assert "is not the pinned org.example:thing_2.13:1.0" in message
    assert hashlib.sha256(b"something else").hexdigest() in message
    assert "Delete it and run again" in message
    assert jars.jar_paths_if_cached() is None
    assert list(cache.iterdir()) == []


def test_a_failed_download_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> object:
        return type("Done", (), {"returncode": 1, "stderr": "noise\nunresolved dependency", "stdout": ""})

    monkeypatch.setattr(jars.subprocess, "run", fails)
    with pytest.raises(DbtRuntimeError) as caught:
        jars.jar_paths()
    message = caught.value.msg
    assert "Could not fetch io.delta:delta-spark" in message
    assert "unresolved dependency" in message
    assert str(cache) in message
    assert "\n" not in message


def test_a_cached_jar_is_verified_when_it_is_used(
    cache: Path, one_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = jars.jar_paths()
    before = path.stat()
    jars.jar_paths()
    summed: list[Path] = []
    monkeypatch.setattr(jars, "check_sum", lambda _, path: summed.append(path))
    assert jars.jar_paths() == [path]
    assert summed == [], "an untouched file is not summed at every start"
    monkeypatch.undo()
    monkeypatch.setenv("DBT_SEDONA_CACHE", str(cache.parent))
    monkeypatch.setattr(
        jars, "JARS", (Jar("org.example:thing_2.13:1.0", hashlib.sha256(b"the pinned file").hexdigest()),)
    )
    monkeypatch.setattr(class_archive, "environment_dir", lambda: cache.parent.parent / "environment")
    # Of the same size and with its time set back.
    path.write_bytes(b"the planted one")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    with pytest.raises(DbtRuntimeError, match="is not the pinned"):
        jars.jar_paths()
