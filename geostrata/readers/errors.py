"""What can be wrong with a landed file as a whole. What is wrong with one row is never an error."""

from __future__ import annotations

from geostrata.errors import GeostrataError


class ReaderError(GeostrataError):
    """A file that can't be loaded. The message names the file and the way out."""

    def __init__(self, path: str, reason: str) -> None:
        # Both arguments go to Exception, so that the error survives the way from an executor to the driver.
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


# N818: what happened to the file reads better than a class of error.
class HalfWritten(ReaderError):  # noqa: N818
    """The file is not all there yet. The caller leaves it for the next run."""


class Refused(ReaderError):  # noqa: N818
    """The file is not what was declared. A person must act."""
