"""Files and folders that only their user can read: rows, logs and settings lie in them."""

from __future__ import annotations

import os
from pathlib import Path

from dbt.adapters.events.logging import AdapterLogger

logger = AdapterLogger("Sedona")

_OTHERS = 0o077


def make_folder(path: Path) -> None:
    """Makes it, with the folders above it that are missing, for its user alone; closes one that others can enter."""
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    close_folder(path)


def close_folder(path: Path) -> None:
    if path.is_dir() and (mode := path.stat().st_mode) & _OTHERS:
        try:
            path.chmod(mode & 0o7700)
        except PermissionError:
            logger.warning(
                f"{path}: other users can enter it, and it belongs to one of them. Make it yours with chown."
            )


def write(path: Path, text: str) -> None:
    """A new file: a link that somebody put there is not followed."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
