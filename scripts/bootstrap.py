#!/usr/bin/env python3
"""Create or update the locked environment in .venv. Standard library only: it runs before anything is installed.

    python3 scripts/bootstrap.py            make .venv match requirements.lock
    python3 scripts/bootstrap.py --doctor   check what can be checked before that, then call `geostrata doctor`

A stamp inside .venv says which lock, which project files and which folder it was built for. While the stamp matches,
a call costs milliseconds and no network. It is taken away before the environment is touched and written back last, so
an interrupted set-up, a moved folder or a removed Python is noticed and built anew.

Why uv and not pip alone: on 2 cores, nothing cached, this lock took pip 121 s and uv 31 s (2 to 6 s with its cache
warm); the whole set-up about 50 s, or 13 s warm.
pip installs uv, checked by hash like the rest, and stays as the way out where uv does not run.

The file must parse on Python 3.6, so that an old Python gets a sentence and not a SyntaxError.
"""

import argparse
import ast
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, TextIO, Tuple

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = (3, 11), (3, 13)
# Order of preference: the oldest one is what the project is developed on.
CANDIDATES = ("python3.11", "python3.12", "python3.13")
# Installed first, by pip: uv, and what builds pyspark (published as a source archive) without fetching anything else.
FIRST = ("uv", "setuptools")
# Measured: 1.2 GB in .venv, shared with uv's cache, and 1.8 GB for building pyspark, which stay in that cache.
DISK_GB = 3.5
# A line of life this often where the output is not a terminal.
HEARTBEAT_S = 20.0

DISK_FULL = r"No space left on device|os error 28|Errno 28|Disk quota exceeded"
OTHER_HASH = r"DO NOT MATCH THE HASHES|[Hh]ash mismatch|expected sha256"
# What went wrong, by what pip and uv say about it; the first match counts.
CAUSES = (
    (
        DISK_FULL,
        "the disk is full. Set-up needs {disk} GB for .venv and the package cache: free some, or set UV_CACHE_DIR to another disk",
    ),
    (
        OTHER_HASH,
        "a package differs from requirements.lock. Do not install it: check which package index this machine uses",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|invalid peer certificate|UnknownIssuer|certificate verify failed",
        "the package index's certificate is not trusted. Set SSL_CERT_FILE to your organisation's CA bundle",
    ),
    (
        r"HTTP (status|error)[^\n]*\b40[13]\b|\b40[13] (Client Error|Unauthorized|Forbidden)",
        "the package index refuses access. Check the user and password in your pip configuration (pip config list)",
    ),
    (
        r"Failed to establish a new connection|NewConnectionError|NameResolutionError|[Nn]ame resolution|getaddrinfo"
        r"|[Nn]ame or service not known|dns error|[Ff]ailed to fetch|error sending request|[Cc]onnection (refused|reset)"
        r"|tcp connect error|timed out|ProxyError|Network is unreachable",
        "the package index can't be reached. Check the network, HTTPS_PROXY and your pip configuration (pip config list)",
    ),
    (
        r"No matching distribution found|no wheels? with a matching|has no (usable )?wheels|not found in the package registry",
        "the package index lacks a package that the lock names. Check which index this machine uses (pip config list)",
    ),
    (
        r"Permission denied|os error 13|Errno 13",
        "no permission to write. Check who owns .venv and the package cache (~/.cache)",
    ),
)


class SetupError(Exception):
    """One line: what is wrong and what to do."""


class CommandError(Exception):
    def __init__(self, output: str) -> None:
        super().__init__(output)
        self.output = output


def state_dir() -> Path:
    return (ROOT / os.environ.get("GEOSTRATA_STATE", ".geostrata")).resolve()


def version_of(version: Tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


# --- the stamp ----------------------------------------------------------------------------------------------------


class Environment:
    """The virtual environment of one project folder, and what its stamp says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.stamp_file = self.folder / "geostrata-stamp.json"
        windows = os.name == "nt"
        self.bin = self.folder / ("Scripts" if windows else "bin")
        self.python = self.bin / ("python.exe" if windows else "python")
        self.uv = self.bin / ("uv.exe" if windows else "uv")
        self.lock = root / "requirements.lock"

    def wanted(self) -> Dict[str, str]:
        return {
            # Scripts and editable installs hold absolute paths: a moved or copied folder does not work.
            "folder": str(self.folder),
            "lock": _digest(self.lock),
            "projects": _digest(self.root / "pyproject.toml", self.root / "adapter" / "pyproject.toml"),
        }

    def stamp(self) -> Dict[str, str]:
        """What the environment was built for; empty when it is absent, half-built or broken."""
        # X_OK follows the link: a Python that was uninstalled is noticed here.
        if not os.access(str(self.python), os.X_OK):
            return {}
        try:
            found = json.loads(self.stamp_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def state(self, python: Optional[str] = None) -> str:
        """`current`, `stale` (right place and Python, other packages) or `absent` (to be built anew)."""
        stamp, wanted = self.stamp(), self.wanted()
        if stamp.get("folder") != wanted["folder"] or python not in (None, stamp.get("python")):
            return "absent"
        return "current" if all(stamp.get(key) == value for key, value in wanted.items()) else "stale"

    def write_stamp(self, content: Dict[str, str]) -> None:
        partial = self.stamp_file.with_suffix(".partial")
        partial.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        partial.replace(self.stamp_file)


def _digest(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        try:
            digest.update(file.read_bytes())
        except OSError as error:
            raise SetupError(f"can't read {file}: is the checkout complete?") from error
        digest.update(b"\0")
    return digest.hexdigest()


# --- checks before anything is done -------------------------------------------------------------------------------


def check_python(goal: str) -> None:
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    raise SetupError(
        f"Geostrata needs Python {version_of(OLDEST)} to {version_of(NEWEST)}; this is {version_of(sys.version_info[:2])} "
        f"({sys.executable}). Install one and run: make {goal} PYTHON=python3.12"
    )


def check_venv_module() -> None:
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"this Python ({sys.executable}) has no venv module. "
            f"On Debian and Ubuntu: sudo apt install python{version_of(sys.version_info[:2])}-venv"
        ) from error


def check_disk(root: Path) -> None:
    free = shutil.disk_usage(str(root)).free / 1e9
    if free < DISK_GB:
        raise SetupError(
            f"{free:.1f} GB are free on the disk of {root}; set-up needs {DISK_GB} GB. Free some and run it again"
        )


def suitable_python() -> Optional[str]:
    """A supported Python on the PATH, where the one that runs this file is not."""
    probe = "import ensurepip, sys, venv; print(sys.version_info[:2])"
    for name in CANDIDATES:
        path = shutil.which(name)
        if path is None:
            continue
        # Asked, not believed: a version manager leaves names on the PATH that don't run.
        done = subprocess.run([path, "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if done.returncode == 0 and OLDEST <= ast.literal_eval(done.stdout.decode()) <= NEWEST:
            return path
    return None


# --- running a step: one line for people, everything for the log --------------------------------------------------


class Steps:
    def __init__(self, log: TextIO, out: TextIO) -> None:
        self.log = log
        self.out = out
        self.terminal = out.isatty()
        self.last = ""

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Say what goes on and how long it took; every so often that it still goes on."""
        began = time.monotonic()
        done = threading.Event()
        self.last = ""
        print(f"=== {title}", file=self.log, flush=True)
        clock = threading.Thread(target=self._tick, args=(title, began, done), daemon=True)
        clock.start()
        try:
            yield
        except BaseException:
            done.set()
            clock.join()
            self._clear()
            raise
        done.set()
        clock.join()
        self._clear()
        self.say(f"  {title:<44} {time.monotonic() - began:5.1f} s")

    def say(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    def _tick(self, title: str, began: float, done: threading.Event) -> None:
        while not done.wait(0.5 if self.terminal else HEARTBEAT_S):
            seconds = time.monotonic() - began
            if self.terminal:
                line = f"  {title:<44} {seconds:5.0f} s  {self.last}"
                width = shutil.get_terminal_size().columns - 1
                print("\r\033[K" + line[:width], end="", file=self.out, flush=True)
            else:
                self.say(f"  {title} … {seconds:.0f} s  {self.last}".rstrip())

    def _clear(self) -> None:
        if self.terminal:
            print("\r\033[K", end="", file=self.out, flush=True)

    def call(self, command: List[str], env: Dict[str, str]) -> None:
        # A session of its own, so that Ctrl-C ends the whole tree below it and nothing goes on writing into .venv.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=str(ROOT),
            start_new_session=True,
        )
        lines: List[str] = []
        try:
            assert process.stdout is not None  # noqa: S101 - for mypy: stdout=PIPE
            for raw in process.stdout:
                line = raw.decode("utf-8", "replace").rstrip()
                print(line, file=self.log, flush=True)
                if line.strip():
                    lines.append(line)
                    self.last = line.strip()[:60]
            code = process.wait()
        except BaseException:
            if os.name != "nt":
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
            raise
        if code != 0:
            print(f"=== exit code {code}", file=self.log, flush=True)
            raise CommandError("\n".join(lines[-200:]))


def explain(output: str) -> str:
    for pattern, message in CAUSES:
        if re.search(pattern, output):
            return message.format(disk=DISK_GB)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"(error|ERROR|×|Caused by)", line)] or lines[-1:]
    return said[0] if said else "the installer ended without a word"


# --- the installers ---------------------------------------------------------------------------------------------


def child_environment() -> Dict[str, str]:
    """Ours, less what would send packages elsewhere than .venv."""
    drop = {
        "PYTHONPATH",
        "PYTHONHOME",
        "PIP_USER",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_REQUIRE_HASHES",
        "VIRTUAL_ENV",
    }
    env = {key: value for key, value in os.environ.items() if key not in drop}
    env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    env["PIP_NO_INPUT"] = "1"
    return env


def uv_settings(pip_config: str) -> Dict[str, str]:
    """uv's settings for what `pip config list` printed: uv does not read pip's, and a machine may depend on them."""
    pip: Dict[str, str] = {}
    for line in pip_config.splitlines():
        name, separator, value = line.partition("=")
        with contextlib.suppress(ValueError, SyntaxError):
            # Later lines win, as in pip: files first, then the command's own section, then the environment.
            pip[name.rsplit(".", 1)[-1].replace("_", "-")] = str(ast.literal_eval(value)) if separator else ""
    settings = {
        # The machine's certificates as well as uv's own list. Two names: it was renamed on the way.
        "UV_SYSTEM_CERTS": "1",
        "UV_NATIVE_TLS": "1",
        # pip looks in all indexes at once; so does this. The hashes of the lock decide what is accepted.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    same = {
        "index-url": "UV_DEFAULT_INDEX",
        "cert": "SSL_CERT_FILE",
        "client-cert": "SSL_CLIENT_CERT",
        "proxy": "HTTPS_PROXY",
        "default-timeout": "UV_HTTP_TIMEOUT",
        "timeout": "UV_HTTP_TIMEOUT",
        "keyring-provider": "UV_KEYRING_PROVIDER",
    }
    for option, variable in same.items():
        if pip.get(option):
            settings[variable] = pip[option]
    if pip.get("extra-index-url"):
        settings["UV_INDEX"] = " ".join(pip["extra-index-url"].split())
    if pip.get("trusted-host"):
        settings["UV_INSECURE_HOST"] = " ".join(pip["trusted-host"].split())
    # pip passes over a folder that is not there; uv stops.
    links = [link for link in pip.get("find-links", "").split() if "://" in link or Path(link).exists()]
    if links:
        settings["UV_FIND_LINKS"] = ",".join(links)
    if pip.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        settings["UV_NO_INDEX"] = "1"
    if settings.get("UV_KEYRING_PROVIDER") not in (None, "disabled", "subprocess"):
        settings["UV_KEYRING_PROVIDER"] = "subprocess"
    return settings


def lines_of(lock: str, names: Tuple[str, ...]) -> str:
    """The entries of a lock for some packages, with their hashes."""
    entries = re.findall(r"^[^\s#].*(?:\n[ \t]+.*)*", lock, flags=re.MULTILINE)
    kept = [entry for entry in entries if re.split(r"[=\[ ;@]", entry, maxsplit=1)[0].lower() in names]
    if len(kept) < len(names):
        raise SetupError(f"requirements.lock lacks {' or '.join(names)}: write it anew with `make lock`")
    return "\n".join(kept) + "\n"


class Installer:
    def __init__(self, env: Environment, steps: Steps) -> None:
        self.env = env
        self.steps = steps
        self.variables = child_environment()
        self.pip = [str(env.python), "-m", "pip"]
        # uv fetches everything before it changes anything; pip, fallen back to, may stop half-way.
        self.untouched = True

    def create(self) -> None:
        if self.env.folder.is_symlink() or self.env.folder.is_file():
            raise SetupError(f"{self.env.folder} is not a folder: move it away")
        with contextlib.suppress(FileNotFoundError):
            self.env.stamp_file.unlink()
        if self.env.folder.exists():
            shutil.rmtree(str(self.env.folder))
        self.steps.call([sys.executable, "-m", "venv", str(self.env.folder)], self.variables)

    def first(self) -> None:
        part = self.env.folder / "first.lock"
        part.write_text(lines_of(self.env.lock.read_text(encoding="utf-8"), FIRST), encoding="utf-8")
        options = ["--quiet", "--retries", "2", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
        self.steps.call([*self.pip, "install", *options, "-r", str(part)], self.variables)
        part.unlink()

    def uv_environment(self) -> Dict[str, str]:
        done = subprocess.run([*self.pip, "config", "list"], stdout=subprocess.PIPE, env=self.variables)
        # What somebody set for uv itself wins over what is derived from pip.
        return dict(uv_settings(done.stdout.decode("utf-8", "replace")), **self.variables)

    def packages(self) -> None:
        """Make the environment equal to the lock."""
        # --exact: what the lock no longer names goes.
        options = ["--python", str(self.env.python), "--exact", "--require-hashes", "--no-deps"]
        options += ["--no-build-isolation-package", "pyspark", "-r", str(self.env.lock)]
        try:
            self.steps.call([str(self.env.uv), "pip", "install", *options], self.uv_environment())
        except (CommandError, OSError) as error:
            # pip would meet the same disk, and must not accept what uv refused.
            if isinstance(error, CommandError) and re.search(f"{DISK_FULL}|{OTHER_HASH}", error.output):
                raise
            self.steps.say(f"  uv did not succeed ({_reason(error)}); trying pip, which takes minutes")
            self.untouched = False
            options = ["install", "--no-deps", "--require-hashes", "-r", str(self.env.lock)]
            self.steps.call(self.pip + options, self.variables)
        self.untouched = False

    def projects(self) -> None:
        """Our own two packages, editable. Their build backend is in the lock, so this needs no network."""
        options = ["--no-deps", "--no-build-isolation", "-e", str(ROOT / "adapter"), "-e", str(ROOT)]
        try:
            command = [str(self.env.uv), "pip", "install", "--offline", "--python", str(self.env.python)]
            self.steps.call(command + options, self.uv_environment())
        except (CommandError, OSError):
            self.steps.call([*self.pip, "install", *options], self.variables)


def _reason(error: Exception) -> str:
    return explain(error.output) if isinstance(error, CommandError) else str(error)


# --- the whole ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def only_one(folder: Path, out: TextIO) -> Iterator[None]:
    """Two set-ups at once would take each other's files away: the second waits."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with (folder / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("Another set-up is running here; waiting for it", file=out, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def set_up(env: Environment, wanted_python: Optional[str], goal: str, out: TextIO) -> None:
    if env.state(wanted_python) == "current":
        return
    if env.state(wanted_python) == "absent":
        check_python(goal)
        check_venv_module()
        check_disk(env.root)
    logs = state_dir() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with only_one(state_dir(), out):
        # Asked again: another set-up may have done the work meanwhile.
        state = env.state(wanted_python)
        if state == "current":
            return
        log_file = logs / "setup.log"
        with log_file.open("w", encoding="utf-8") as log:
            try:
                _install(env, state, Steps(log, out))
            except CommandError as error:
                raise SetupError(f"set-up failed: {explain(error.output)}. All of it: {log_file}") from error


def _install(env: Environment, state: str, steps: Steps) -> None:
    before, wanted = env.stamp(), env.wanted()
    began = time.monotonic()
    installer = Installer(env, steps)
    if state == "absent":
        python = version_of(sys.version_info[:2])
        steps.say(f"Setting up Geostrata with Python {python} in .venv (once, {DISK_GB} GB of disk)")
        with steps.step("Environment"):
            installer.create()
    else:
        python = before["python"]
        steps.say("Updating .venv: requirements.lock or pyproject.toml changed")
        env.stamp_file.unlink()
    try:
        if before.get("lock") != wanted["lock"] or state == "absent":
            with steps.step("Installer (uv)"):
                installer.first()
            with steps.step("Packages of requirements.lock"):
                installer.packages()
        with steps.step("Geostrata and dbt-sedona"):
            installer.projects()
    except CommandError:
        if state == "stale" and installer.untouched:
            env.write_stamp(before)
        raise
    env.write_stamp(dict(wanted, python=python))
    steps.say(f"Ready in {time.monotonic() - began:.0f} s")


def doctor(env: Environment, wanted_python: Optional[str], arguments: List[str]) -> int:
    """The environment's own doctor where there is one; else what can be checked without it."""
    program = env.bin / "geostrata"
    if env.state(wanted_python) != "absent" and program.exists():
        return subprocess.call(
            [str(env.python), "-m", "geostrata.cli", "doctor", *arguments], cwd=str(env.root)
        )
    failed = False
    checks: Tuple[Tuple[str, Callable[[], None]], ...] = (
        ("python", lambda: check_python("setup")),
        ("venv module", check_venv_module),
        ("disk", lambda: check_disk(env.root)),
    )
    for name, check in checks:
        try:
            check()
            print(f"ok    {name}")
        except SetupError as error:
            failed = True
            print(f"FAIL  {name}: {error}")
    print("warn  environment: not installed yet. `make setup` does it; `make doctor` then checks the rest")
    return 1 if failed else 0


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description="Make .venv match requirements.lock.")
    parser.add_argument("--goal", default="setup", help="the make target that asked, for messages")
    parser.add_argument(
        "--this-python", action="store_true", help="use the Python that runs this file, no other"
    )
    parser.add_argument("--doctor", action="store_true", help="check the machine, install nothing")
    options, rest = parser.parse_known_args(arguments)
    if rest and not options.doctor:
        parser.error("unknown: " + " ".join(rest))

    env = Environment(ROOT)
    supported = OLDEST <= sys.version_info[:2] <= NEWEST
    # Only a Python that was asked for by name replaces a working environment of another one.
    wanted_python = version_of(sys.version_info[:2]) if options.this_python else None
    try:
        if env.state(wanted_python) == "absent" and not supported and not options.this_python:
            other = suitable_python()
            if other is not None:
                return subprocess.call([other, str(Path(__file__).resolve()), *(arguments or sys.argv[1:])])
        if options.doctor:
            return doctor(env, wanted_python, rest)
        set_up(env, wanted_python, options.goal, sys.stdout)
    except SetupError as error:
        print(f"geostrata: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"geostrata: set-up failed: {explain(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("geostrata: set-up interrupted; the same command starts it again", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
