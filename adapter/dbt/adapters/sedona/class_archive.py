"""A class-data-sharing archive of Spark, Delta and Sedona: the JVM maps loaded classes instead of parsing 10,000 of them.

Made once for an environment (`python -m dbt.adapters.sedona.prepare`), used at every start; without it all works,
only slower. It belongs to the environment because the JVM accepts it only for the very class path it was made from.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.sedona.java import JavaHome, find_java

# Unusable archives (another JVM, changed jars) are passed over in silence: the start is slower, nothing else.
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")


# A busy machine needs minutes to write it.
LONGEST_S = 900
# After a failure the next try waits so long: it costs a minute, and a start without it some seconds.
_TRY_AGAIN_S = 24 * 3600

logger = AdapterLogger("Sedona")


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


def is_wanted() -> bool:
    """True if there is none, and no attempt has failed of late."""
    path = archive_path(find_java())
    failed = _failure(path)
    return not path.is_file() and not (
        failed.is_file() and time.time() - failed.stat().st_mtime < _TRY_AGAIN_S
    )


def make() -> Path | None:
    """Writes the archive, by a session of its own that does a bit of everything. Returns at once if it exists; none if it can't be
    written, which is told and stops nobody: starts are slower, nothing else."""
    path = archive_path(find_java())
    if path.is_file():
        return path
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "DBT_SEDONA_WRITE_ARCHIVE": str(unfinished)}
        command = [sys.executable, "-m", "dbt.adapters.sedona.prepare", "--exercise"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise OSError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        unfinished.replace(path)
        return path
    except OSError as error:
        logger.warning(
            f"class archive: it could not be written ({error}). Each start is some seconds slower without it."
        )
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
            _failure(path).touch()
        return None


def _failure(path: Path) -> Path:
    return path.with_suffix(".failed")
