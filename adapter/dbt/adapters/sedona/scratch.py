"""Where the JVM keeps what it needs while it runs: in the state folder, and gone with the process."""

from __future__ import annotations

import atexit
import os
import shutil
from pathlib import Path

from dbt.adapters.sedona import private


def folder(state_dir: Path) -> Path:
    return state_dir / "tmp" / str(os.getpid())


def claim(state_dir: Path) -> None:
    """Makes this process's folder, which goes with it, and removes those that killed processes left."""
    for left in (state_dir / "tmp").glob("[0-9]*"):
        if not _is_running(int(left.name)):
            shutil.rmtree(left, ignore_errors=True)
    private.make_folder(folder(state_dir))
    atexit.register(shutil.rmtree, folder(state_dir), ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
