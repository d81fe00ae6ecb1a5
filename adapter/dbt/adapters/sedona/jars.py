"""The jars a session needs: resolved once by Spark's own resolver, checked against pinned sums, then used from a cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.sedona import class_archive, private
from dbt_common.exceptions import DbtRuntimeError


@dataclass(frozen=True)
class Jar:
    coordinate: str
    sha256: str

    @property
    def file_name(self) -> str:
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"


# Proven together with pyspark 4.0.5. `spark.jars.packages` would drag in 35 artifacts, another Hadoop among them.
JARS = (
    Jar(
        "io.delta:delta-spark_4.0_2.13:4.4.0",
        "49e899667168b9412f83cbe894ce264107d7b896d6c5e12edca4e216845c1104",
    ),
    Jar("io.delta:delta-storage:4.4.0", "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
    Jar(
        "org.apache.sedona:sedona-spark-shaded-4.0_2.13:1.8.0",
        "c847cec67cd06b43c7a2f67086fa56fd6044564a539128e598cf68262fe53a2f",
    ),
    Jar(
        "org.datasyslab:geotools-wrapper:1.8.1-33.1",
        "d6b4cef01a171fd8278c224e5f0110fdcbb344b2db04dbebba2e5f4b0ed7bad5",
    ),
)


def cache_dir() -> Path:
    """Where downloads are kept: DBT_SEDONA_CACHE, or dbt-sedona in the user's cache folder."""
    if chosen := os.environ.get("DBT_SEDONA_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dbt-sedona"


def jar_paths_if_cached() -> list[Path] | None:
    """The cached jars, or None if one is missing."""
    paths = [cache_dir() / "jars" / jar.file_name for jar in JARS]
    return paths if all(path.is_file() for path in paths) else None


def _check_cached(paths: list[Path]) -> None:
    """Sums of the files that are about to be run. A file that was checked and has not been touched since (nobody can set the time of its
    last change) is not summed again: that would cost every start 0.2 s or more."""
    file = class_archive.environment_dir() / "jars.json"
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    seen = {str(path): [jar.sha256, *_state(path)] for jar, path in zip(JARS, paths, strict=True)}
    for jar, path in zip(JARS, paths, strict=True):
        if known.get(str(path)) != seen[str(path)]:
            check_sum(jar, path)
    if known != seen:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            private.write(file, json.dumps(seen))


def _state(path: Path) -> tuple[int, int, int, int]:
    found = path.stat()
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def jar_paths() -> list[Path]:
    """The cached jars, downloaded first where they are missing."""
    if (cached := jar_paths_if_cached()) is not None:
        _check_cached(cached)
        return cached
    folder = cache_dir() / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    missing = [jar for jar in JARS if not (folder / jar.file_name).is_file()]
    for jar, resolved in zip(missing, _resolve(missing), strict=True):
        check_sum(jar, resolved)
        unfinished = folder / f".{jar.file_name}.{os.getpid()}"
        shutil.copyfile(resolved, unfinished)
        unfinished.replace(folder / jar.file_name)
    return [folder / jar.file_name for jar in JARS]


def check_sum(jar: Jar, path: Path) -> None:
    with path.open("rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != jar.sha256:
        raise DbtRuntimeError(
            f"{path} is not the pinned {jar.coordinate}: its sha256 is {actual}, expected {jar.sha256}. "
            "Delete it and run again; if it comes back, the package registry serves another file."
        )


def _resolve(jars: list[Jar]) -> list[Path]:
    """Downloads by `ADD JAR ivy://` in a bare session of its own process: Spark's resolver knows where to look."""
    command = [sys.executable, "-m", "dbt.adapters.sedona.resolve", *(jar.coordinate for jar in jars)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        names = ", ".join(jar.coordinate for jar in jars)
        raise DbtRuntimeError(
            f"Could not fetch {names}: {reason} "
            f"Check the network, or put the files into {cache_dir() / 'jars'} yourself; the next run goes on from there."
        )
    return [Path(line.removeprefix("jar ")) for line in done.stdout.splitlines() if line.startswith("jar ")]
