"""A class-data-sharing archive of Spark, Delta and Sedona: the JVM maps loaded classes instead of parsing 10,000 of them.

Made once for an environment (`python -m dbt.adapters.sedona.prepare`), used at every start; without it all works,
only slower. It belongs to the environment because the JVM accepts it only for the very class path it was made from.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from dbt.adapters.sedona.java import JavaHome, find_java

# Unusable archives (another JVM, changed jars) are passed over in silence: the start is slower, nothing else.
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")


def environment_dir() -> Path:
    """This Python environment's own folder for what can't be shared with another."""
    return Path(sys.prefix) / "share" / "dbt-sedona"


def archive_path(java: JavaHome) -> Path:
    from dbt.adapters.sedona.jars import JARS, cache_dir
    from pyspark import __version__

    parts = [str(java.home), str(java.version), __version__, str(cache_dir()), *(jar.sha256 for jar in JARS)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return environment_dir() / f"classes-{key}.jsa"


def jvm_options(java: JavaHome) -> list[str]:
    path = archive_path(java)
    if unfinished := os.environ.get("DBT_SEDONA_WRITE_ARCHIVE"):
        return [*_QUIET, f"-XX:ArchiveClassesAtExit={unfinished}"]
    return [*_QUIET, f"-XX:SharedArchiveFile={path}"] if path.is_file() else []


def make() -> Path:
    """Writes the archive, by a session of its own that does a bit of everything. Returns at once if it exists."""
    path = archive_path(find_java())
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        environment = {**os.environ, "DBT_SEDONA_WRITE_ARCHIVE": str(unfinished)}
        command = [sys.executable, "-m", "dbt.adapters.sedona.prepare", "--exercise"]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        unfinished.replace(path)
    return path
