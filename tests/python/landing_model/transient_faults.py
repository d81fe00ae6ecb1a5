"""Preloaded by Spark's Python workers: a landed file that is marked can't be read now, as on a disk or a mount in trouble."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import Any

MARKS = "FAULTY_FILES"
_open = io.open


def mark_of(marks: Path, path: Path) -> Path:
    return marks / f"{path.parent.name}+{path.name}"


def _open_or_fail(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
    marks = os.environ.get(MARKS)
    if (
        marks
        and mode.startswith("r")
        and str(file).endswith(".csv")
        and mark_of(Path(marks), Path(file)).exists()
    ):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(file))
    return _open(file, mode, *arguments, **options)


io.open = _open_or_fail
