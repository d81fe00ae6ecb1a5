"""What can be wrong with a landed file as a whole. What is wrong with one row is never an error."""

from __future__ import annotations

import errno

from geostrata.errors import GeostrataError
from geostrata.printable import printable

# What a disk, a network or a full machine says. Libraries say what is wrong with the content without a number.
_OF_THE_MACHINE = {
    getattr(errno, name)
    for name in (
        *("EIO", "EREMOTEIO", "ESTALE", "EBUSY", "EAGAIN", "EINTR", "ENOLCK", "EROFS"),
        *("ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"),
        *("EACCES", "EPERM"),
        *(
            "ETIMEDOUT",
            "ENETDOWN",
            "ENETUNREACH",
            "EHOSTUNREACH",
            "ECONNRESET",
            "ECONNREFUSED",
            "ECONNABORTED",
            "EPIPE",
        ),
    )
    if hasattr(errno, name)
}


class ReaderError(GeostrataError):
    """A file that can't be loaded. The message names the file and the way out."""

    def __init__(self, path: str, reason: str) -> None:
        # Both arguments go to Exception, so that the error survives the way from an executor to the driver.
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{printable(self.path)}: {printable(self.reason)}"


# N818: what happened to the file reads better than a class of error.
class HalfWritten(ReaderError):  # noqa: N818
    """The file is not all there yet. The caller leaves it for the next run."""


class Passing(ReaderError):  # noqa: N818
    """The machine or the storage is in trouble, not the file. The caller leaves it for the next run."""


class Refused(ReaderError):  # noqa: N818
    """The file is not what was declared. A person must act."""


def is_passing(trouble: BaseException) -> bool:
    """True if the same file may well be read the next time."""
    return isinstance(trouble, Passing | MemoryError) or (
        isinstance(trouble, OSError) and trouble.errno in _OF_THE_MACHINE
    )


def in_words(trouble: BaseException) -> str:
    return f"{type(trouble).__name__}: {' '.join(str(trouble).split())[:200]}"
