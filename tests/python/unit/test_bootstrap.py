"""The set-up script: what it notices, what it says, and that it leaves a good environment alone."""

from __future__ import annotations

import ast
import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "bootstrap.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bootstrap = load()
THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout as set-up sees it."""
    root = tmp_path / "checkout"
    (root / "adapter").mkdir(parents=True)
    (root / "scripts").mkdir()
    shutil.copy(SCRIPT, root / "scripts")
    for file in ("requirements.lock", "pyproject.toml", "adapter/pyproject.toml"):
        shutil.copy(ROOT / file, root / file)
    return root


@pytest.fixture
def ready(tree: Path) -> Path:
    """A checkout whose environment was set up: a real one, only without packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tree / ".venv"], check=True)
    stamp(tree)
    return tree


def stamp(root: Path) -> None:
    env = bootstrap.Environment(root)
    env.write_stamp(dict(env.wanted(), python=THIS))


def state(root: Path, python: str | None = None) -> str:
    return str(bootstrap.Environment(root).state(python))


def start(root: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    # Nothing of this machine's own pip settings may help or hinder.
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_", "GEOSTRATA_"))
    }
    return subprocess.Popen(
        [sys.executable, root / "scripts" / "bootstrap.py", *arguments],
        env=env | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests themselves run in the background, a shell has them ignore it, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_an_old_python_can_parse_the_script() -> None:
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("name", ["python3.6", "python3.7", "python3.8", "python3.9", "python3.10"])
def test_an_old_python_gets_one_sentence(tree: Path, name: str) -> None:
    probe = subprocess.run([name, "--version"], capture_output=True) if shutil.which(name) else None
    if probe is None or probe.returncode != 0:
        pytest.skip(f"no {name} on this machine")
    done = subprocess.run(
        [name, tree / "scripts" / "bootstrap.py", "--this-python", "--goal", "run"],
        capture_output=True,
        text=True,
    )
    version = name[len("python") :]
    assert done.returncode == 1
    assert done.stderr.startswith(f"geostrata: Geostrata needs Python 3.11 to 3.13; this is {version} (")
    assert done.stderr.endswith("Install one and run: make run PYTHON=python3.12\n")
    assert done.stderr.count("\n") == 1


def test_a_python_outside_the_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "OLDEST", (3, 98))
    monkeypatch.setattr(bootstrap, "NEWEST", (3, 99))
    with pytest.raises(bootstrap.SetupError, match=rf"needs Python 3\.98 to 3\.99; this is {THIS} \("):
        bootstrap.check_python("test")


def test_too_little_disk_is_said_before_anything_is_done(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "DISK_GB", 1e9)
    with pytest.raises(bootstrap.SetupError, match="set-up needs 1000000000"):
        bootstrap.check_disk(tree)


def test_nothing_there_is_absent(tree: Path) -> None:
    assert state(tree) == "absent"


def test_what_was_set_up_is_current(ready: Path) -> None:
    assert state(ready) == "current"
    assert state(ready, THIS) == "current"


@pytest.mark.parametrize("file", ["requirements.lock", "pyproject.toml", "adapter/pyproject.toml"])
def test_a_changed_file_makes_it_stale(ready: Path, file: str) -> None:
    with (ready / file).open("a") as changed:
        changed.write("# another line\n")
    assert state(ready) == "stale"


def test_another_python_asked_for_by_name_is_another_environment(ready: Path) -> None:
    assert state(ready, "3.99") == "absent"


def test_a_moved_folder_is_noticed(ready: Path) -> None:
    moved = ready.rename(ready.with_name("moved"))
    assert state(moved) == "absent"


def test_a_removed_python_is_noticed(ready: Path) -> None:
    python = ready / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(ready / "gone")
    assert state(ready) == "absent"


@pytest.mark.parametrize("content", [None, "", '{"folder": "', "[]"])
def test_a_half_finished_set_up_is_noticed(ready: Path, content: str | None) -> None:
    file = ready / ".venv" / "geostrata-stamp.json"
    file.unlink()
    if content is not None:
        file.write_text(content)
    assert state(ready) == "absent"


def test_a_second_call_is_silent_quick_and_writes_nothing(ready: Path) -> None:
    before = sorted(ready.rglob("*"))
    seconds = []
    for _ in range(3):
        began = time.monotonic()
        process = start(ready)
        assert process.communicate(timeout=30) == ("", "")
        seconds.append(time.monotonic() - began)
        assert process.returncode == 0
    assert sorted(path for path in ready.rglob("*") if path.name != "__pycache__") == before
    # 0.1 s on a quiet machine; the limit only tells it from an install.
    assert min(seconds) < 1


def test_a_second_set_up_waits_for_the_first(ready: Path) -> None:
    (ready / ".venv" / "geostrata-stamp.json").unlink()
    folder = ready / ".geostrata"
    folder.mkdir()
    with (folder / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start(ready)
        assert process.stdout is not None
        assert process.stdout.readline() == "Another set-up is running here; waiting for it\n"
        stamp(ready)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


def test_interrupted_it_says_so_and_the_next_call_starts_anew(tree: Path) -> None:
    process = start(tree)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Setting up Geostrata with Python")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (
        130,
        "geostrata: set-up interrupted; the same command starts it again\n",
    )
    assert state(tree) == "absent"


def test_without_network_one_line_says_what_to_check(tree: Path) -> None:
    # Port 9 of this machine: nobody answers.
    process = start(
        tree, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_NO_CACHE_DIR="1", PIP_CONFIG_FILE=os.devnull
    )
    out, err = process.communicate(timeout=120)
    log = tree / ".geostrata" / "logs" / "setup.log"
    assert process.returncode == 1
    assert err == (
        "geostrata: set-up failed: the package index can't be reached. Check the network, HTTPS_PROXY and your "
        f"pip configuration (pip config list). All of it: {log}\n"
    )
    assert "Traceback" not in out
    assert "Connection refused" in log.read_text()
    assert state(tree) == "absent"


# As pip and uv print them.
@pytest.mark.parametrize(
    ("output", "cause"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "the disk is full",
        ),
        ("error: failed to write to file `x`: No space left on device (os error 28)", "the disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "a package differs"),
        ("  × Failed to download `zipp==1`\n  ╰─▶ Hash mismatch for `zipp==1`", "a package differs"),
        (
            "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]",
            "the package index's certificate",
        ),
        ("Caused by: invalid peer certificate: UnknownIssuer", "the package index's certificate"),
        (
            "error: Failed to fetch: `x`\n  Caused by: HTTP status client error (401 Unauthorized)",
            "the package index refuses",
        ),
        (
            "error: Failed to fetch: `x`\n  Caused by: dns error: failed to lookup",
            "the package index can't be reached",
        ),
        (
            "NewConnectionError('<x>: Failed to establish a new connection",
            "the package index can't be reached",
        ),
        ("ERROR: No matching distribution found for uv==0.1", "the package index lacks"),
        ("error: failed to create directory `x`: Permission denied (os error 13)", "no permission to write"),
        ("something\nerror: an unheard-of thing\n", "error: an unheard-of thing"),
        ("", "the installer ended without a word"),
    ],
)
def test_what_installers_say_becomes_a_cause(output: str, cause: str) -> None:
    assert bootstrap.explain(output).startswith(cause)


def test_uv_gets_the_settings_that_pip_has(tmp_path: Path) -> None:
    listed = "\n".join(
        [
            "global.index-url='https://mirror.invalid/simple'",
            "global.extra-index-url='\\nhttps://one.invalid/simple\\nhttps://two.invalid/simple'",
            "global.cert='/ca.pem'",
            "global.trusted-host='one.invalid two.invalid'",
            "global.timeout='30'",
            ":env:.default-timeout='180'",
            f":env:.find-links='{tmp_path} /not/there'",
            "not a setting",
        ]
    )
    settings = bootstrap.uv_settings(listed)
    assert settings["UV_DEFAULT_INDEX"] == "https://mirror.invalid/simple"
    assert settings["UV_INDEX"] == "https://one.invalid/simple https://two.invalid/simple"
    assert settings["SSL_CERT_FILE"] == "/ca.pem"
    assert settings["UV_INSECURE_HOST"] == "one.invalid two.invalid"
    assert settings["UV_FIND_LINKS"] == str(tmp_path)


def test_the_first_packages_keep_their_hashes() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    part = bootstrap.lines_of(lock, bootstrap.FIRST)
    entries = [line for line in part.splitlines() if not line.startswith((" ", "#"))]
    assert sorted(entry.split("==")[0] for entry in entries) == sorted(bootstrap.FIRST)
    assert part.count("--hash=sha256:") >= 2
    with pytest.raises(bootstrap.SetupError, match="make lock"):
        bootstrap.lines_of("zipp==1 \\\n    --hash=sha256:0\n", bootstrap.FIRST)


def test_the_lock_names_no_host_and_hashes_everything() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    for entry in lock.split("\n"):
        if entry and not entry.startswith((" ", "#")):
            assert entry.endswith("\\"), f"no hash: {entry}"


def test_the_doctor_works_before_set_up(tree: Path) -> None:
    process = start(tree, "--doctor")
    out, err = process.communicate(timeout=30)
    assert err == ""
    assert [line.split()[0] for line in out.splitlines()] == ["ok", "ok", "ok", "warn"]
    assert "make setup" in out.splitlines()[-1]
    assert not (tree / ".venv").exists()
