"""A private PostgreSQL with PostGIS: the machine's own if it has PostGIS, or Debian's packages unpacked beside the benchmark.

The server runs on a socket in a scratch folder, with nothing durable in it, and ends with the process that started it.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.spatial.engines.base import UnavailableError

# Of what PostGIS stands on, these are not on every machine. GDAL and SFCGAL serve functions that are not asked here.
_LIBRARIES = re.compile(r"^(libgeos|libproj|libjson-c|libprotobuf-c|proj-data)")
_SETTINGS = {
    "listen_addresses": "",
    # Nothing here has to outlive a crash.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "8GB",
    "autovacuum": "off",
    "dynamic_shared_memory_type": "mmap",
    # As for a data warehouse on this machine; the defaults are those of 1999.
    "shared_buffers": "2GB",
    "work_mem": "256MB",
    "maintenance_work_mem": "1GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
    "min_parallel_table_scan_size": "0",
    "min_parallel_index_scan_size": "0",
    "max_parallel_workers_per_gather": str(os.cpu_count()),
    "max_parallel_maintenance_workers": str(os.cpu_count()),
}


class Server:
    def __init__(self, scratch: Path, unpacked: Path) -> None:
        programs, root = _find(unpacked.resolve())
        self.folder = scratch / "postgres"
        self.folder.mkdir()
        environment = {**os.environ, "LC_ALL": "C"}
        if root:
            environment["LD_LIBRARY_PATH"] = ":".join(map(str, (root / "usr/lib").glob("*-linux-gnu*")))
            environment["PROJ_DATA"] = str(root / "usr/share/proj")
        start: dict[str, Any] = {"env": environment, "cwd": self.folder, "stderr": subprocess.STDOUT}
        if user := _user():
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            # The folder above is one that only we may enter.
            scratch.chmod(0o711)
            start |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        words = _initialise(
            [str(programs / "initdb"), "-D", "data", "-N", "-A", "trust", "-U", "bench", "-E", "UTF8"], start
        )
        if words:
            raise UnavailableError(f"initdb failed: {words}")
        settings = {**_SETTINGS, "unix_socket_directories": str(self.folder)}
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._log = (scratch / "postgres.log").open("w")
        self._server = subprocess.Popen(
            [str(programs / "postgres"), "-D", "data", *arguments], stdout=self._log, **start
        )
        self.connection = self._connect()

    def close(self) -> None:
        self.connection.close()
        self._stop()

    def _stop(self) -> None:
        self._server.terminate()
        self._server.wait(60)
        self._log.close()

    def _connect(self) -> Any:
        import psycopg

        for _ in range(100):
            try:
                connection = psycopg.connect(
                    host=str(self.folder), user="bench", dbname="postgres", autocommit=True
                )
                connection.execute("create extension postgis")
                return connection
            except psycopg.OperationalError:
                if self._server.poll() is not None:
                    break
                time.sleep(0.1)
        self._stop()
        said = Path(self._log.name).read_text().strip().splitlines()
        raise UnavailableError(f"PostgreSQL did not start: {said[-1] if said else 'no word from it'}")


def _initialise(command: list[str], start: dict[str, Any]) -> str | None:
    """The last words, if it failed."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **start)
    except OSError as error:
        # Such as a folder that the server's user may not enter.
        return str(error)
    return done.stdout.strip().splitlines()[-1] if done.returncode else None


def _find(unpacked: Path) -> tuple[Path, Path | None]:
    """The programs' folder, and the root they were unpacked to, if they were."""
    for library in sorted(Path("/usr/lib/postgresql").glob("*/lib/postgis-3.so"), reverse=True):
        return library.parents[1] / "bin", None
    if not list(unpacked.glob("usr/lib/postgresql/*/lib/postgis-3.so")):
        _unpack(unpacked)
    return next(unpacked.glob("usr/lib/postgresql/*/bin")), unpacked


def _unpack(root: Path) -> None:
    """From the machine's Debian registry; nothing is installed."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise UnavailableError("there is no PostGIS on this machine, and no apt-get to fetch it with")
    search = _output(["apt-cache", "search", "--names-only", r"^postgresql-[0-9]+-postgis-3$"])
    names = sorted(re.findall(r"^postgresql-\d+-postgis-3", search, flags=re.MULTILINE))
    if not names:
        raise UnavailableError("apt knows no package postgresql-N-postgis-3: `apt-get update` may help")
    wanted = [names[-1], f"{names[-1]}-scripts", names[-1].removesuffix("-postgis-3")]
    below = _output(["apt-cache", "depends", "--recurse", "--important", names[-1]]).splitlines()
    wanted += [name for name in below if _LIBRARIES.match(name)]
    packages = root.with_name(f"{root.name}.packages")
    packages.mkdir(parents=True, exist_ok=True)
    _output(["apt-get", "download", "-qq", *wanted], packages)
    unfinished = root.with_name(f"{root.name}.unfinished")
    for package in packages.glob("*.deb"):
        _output(["dpkg-deb", "-x", str(package), str(unfinished)])
    for control in unfinished.glob("usr/share/postgresql/*/extension/postgis-3.control"):
        # What the package's install script does by `update-alternatives`.
        shutil.copy(control, control.with_name("postgis.control"))
    unfinished.rename(root)
    shutil.rmtree(packages)


def _output(command: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise UnavailableError(f"{' '.join(command[:2])} failed: {words[-1] if words else done.returncode}")
    return done.stdout


def _user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root: as whom, then."""
    if os.getuid() != 0:
        return None
    users = {entry.pw_name: entry for entry in pwd.getpwall()}
    return users.get("postgres") or users["nobody"]
