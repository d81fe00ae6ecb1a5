"""Where the JVM keeps what it needs while it runs: in the state folder, and gone with the process."""

from __future__ import annotations

import atexit
import os
import shutil
from pathlib import Path


def folder(state_dir: Path) -> Path:
    return state_dir / "tmp" / str(os.getpid())


def remove_abandoned(state_dir: Path) -> None:
    """Removes what killed processes left, and this one's at its end."""
    for left in (state_dir / "tmp").glob("[0-9]*"):
        if not _is_running(int(left.name)):
            shutil.rmtree(left, ignore_errors=True)
    atexit.register(shutil.rmtree, folder(state_dir), ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
