"""Landed files: where they are, and whether they stayed as they were listed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from geostrata.readers.errors import HalfWritten, Passing, Refused, in_words, is_passing


@dataclass(frozen=True)
class LandedFile:
    """A file as the listing saw it. `path` is a local path or a file: URI."""

    path: str
    size: int
    modified_ms: int
    # When its content or its state last changed, which no tool can set back. 0 where the storage does not tell.
    changed_ms: int = field(default=0, compare=False)


def local_path(path: str) -> Path:
    """Spark names files as file:/a%20b; people name them as paths."""
    if path.startswith("file:"):
        return Path(unquote(urlsplit(path).path))
    return Path(path)


def landed(path: str | Path) -> LandedFile:
    """The file as it is now."""
    text = str(path)
    with trouble_of(text):
        state = local_path(text).stat()
    return LandedFile(
        text, state.st_size, state.st_mtime_ns // 1_000_000, changed_ms=state.st_ctime_ns // 1_000_000
    )


def open_file(path: str) -> BinaryIO:
    """The one place where a landed file is opened, so that buckets need a change here only. A pipe would be waited for."""
    with trouble_of(path):
        stream = os.fdopen(os.open(local_path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return stream
        stream.close()
        raise Refused(path, "it is no file; remove it")


def head(path: str, size: int) -> bytes:
    with open_file(path) as stream, trouble_of(path):
        return stream.read(size)


@contextmanager
def trouble_of(path: str) -> Iterator[None]:
    """What the file system says, as what the caller should do about it."""
    try:
        yield
    except FileNotFoundError:
        raise HalfWritten(path, "it is gone since it was listed; the next run looks again") from None
    except IsADirectoryError:
        raise Refused(path, "it is a folder; name the files in it") from None
    except PermissionError:
        raise Passing(path, "this user may not read it; left until they may") from None
    except OSError as trouble:
        if is_passing(trouble):
            raise Passing(
                path, f"it can't be read now ({in_words(trouble)}); left for the next run"
            ) from None
        raise


@contextmanager
def unchanged(file: LandedFile) -> Iterator[None]:
    """A file that grows while it is read is still being written: its rows are not to be kept."""
    before = _state(file.path)
    if before[0] != file.size:
        raise HalfWritten(
            file.path,
            f"{before[0]} bytes, listed with {file.size}: it is still being written; left for the next run",
        )
    yield
    if _state(file.path) != before:
        raise HalfWritten(file.path, "it changed while it was read; left for the next run")


def _state(path: str) -> tuple[int, int]:
    with trouble_of(path):
        state = local_path(path).stat()
    return state.st_size, state.st_mtime_ns
