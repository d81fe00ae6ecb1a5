"""Plain, gzip or zip: the bytes inside, as a stream."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from geostrata.readers.errors import HalfWritten, Refused
from geostrata.readers.files import head, local_path, open_file, trouble_of
from geostrata.readers.limits import LIMITS, FileLimits, beyond

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
# Of the others zipfile unpacks all that it has read at once: a gigabyte out of 657 bytes of bzip2.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@contextmanager
def packing_trouble(path: str) -> Iterator[None]:
    """What the decompressors raise, for a cut and for a damaged archive."""
    try:
        yield
    except EOFError:
        raise HalfWritten(path, "the compressed data is cut short; left for the next run") from None
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, struct.error) as error:
        raise Refused(path, f"the compressed data is damaged ({error}); deliver the file again") from None
    except (NotImplementedError, RuntimeError) as error:
        # zipfile's words for a password and for an unknown method.
        raise Refused(
            path, f"the archive can't be unpacked ({error}); deliver it without password, as deflate"
        ) from None


def packing(path: str) -> str | None:
    """'gzip', 'zip' or None, by content. A name that promises more than is there yet tells of a cut file."""
    first = head(path, 4)
    if first.startswith(GZIP):
        return "gzip"
    if first.startswith((ZIP, _EMPTY_ZIP)):
        return "zip"
    name = path.lower()
    for ending, magic in ((".gz", GZIP), (".zip", ZIP)):
        if name.endswith(ending) and first and magic.startswith(first):
            raise HalfWritten(path, f"it ends after {len(first)} bytes; left for the next run")
    return None


def directory(path: str) -> list[zipfile.ZipInfo]:
    """The files in a zip, without what operating systems add."""
    with open_file(path) as stream:
        # A zip without its directory, which comes last, is one that is still being copied.
        if not _has_directory(stream):
            raise HalfWritten(
                path, "the zip has no directory at its end: it is cut short; left for the next run"
            )
        with _damage(path), packing_trouble(path), zipfile.ZipFile(stream) as archive:
            return [entry for entry in archive.infolist() if not _is_noise(entry)]


def _has_directory(stream: BinaryIO) -> bool:
    try:
        return zipfile.is_zipfile(stream)
    except (OSError, ValueError, struct.error):
        return False


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """What a damaged directory makes zipfile do: seek to nowhere, or ask for all memory."""
    try:
        yield
    except (OSError, ValueError, OverflowError, MemoryError) as error:
        raise Refused(path, f"the archive is damaged ({error}); deliver the file again") from None


def _is_noise(entry: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(entry.filename).parts
    # Not is_dir(): it fails on an empty name, which a damaged directory may have.
    return entry.filename.endswith("/") or "__MACOSX" in parts or any(part.startswith(".") for part in parts)


def only_member(path: str, endings: tuple[str, ...]) -> zipfile.ZipInfo:
    """The one file of a zip; among several, the one whose name fits the format."""
    entries = directory(path)
    fitting = [entry for entry in entries if entry.filename.lower().endswith(endings)]
    if len(entries) == 1 or len(fitting) == 1:
        return (fitting or entries)[0]
    names = ", ".join(PurePosixPath(entry.filename).name for entry in (fitting or entries)[:5]) or "none"
    raise Refused(path, f"the zip must hold one file ending in {' or '.join(endings)}, it holds {names}")


def open_member(path: str, entry: zipfile.ZipInfo, limits: FileLimits) -> BinaryIO:
    if entry.compress_type not in _METHODS:
        method = entry.compress_type
        raise Refused(
            path, f"the archive can't be unpacked (method {method}); deliver it without password, as deflate"
        )
    archive: zipfile.ZipFile | None = None
    with _damage(path), packing_trouble(path):
        archive = zipfile.ZipFile(open_file(path))
        return cast(BinaryIO, _Unpacked(path, archive.open(entry), archive, limits))
    raise AssertionError


def open_unpacked(path: str, endings: tuple[str, ...], limits: FileLimits) -> BinaryIO:
    """The content, whatever it is packed in. Reading it raises HalfWritten and Refused, nothing of zlib."""
    kind = packing(path)
    if kind == "zip":
        return open_member(path, only_member(path, endings), limits)
    stream = open_file(path)
    if kind == "gzip":
        return cast(BinaryIO, _Unpacked(path, gzip.GzipFile(fileobj=stream, mode="rb"), stream, limits))
    return stream


def check_whole(path: str, endings: tuple[str, ...], limits: FileLimits) -> None:
    """Unpack what is packed, and keep nothing: a cut shows at the end only, and so does the zip's checksum."""
    if packing(path) is not None:
        with open_unpacked(path, endings, limits) as stream:
            while stream.read(LIMITS.chunk_bytes):
                pass


class Unpacking:
    """Counts what comes out of a file, and refuses the file when that is too much, by itself or for the file's size."""

    def __init__(self, path: str, limits: FileLimits) -> None:
        self._path, self._limits = path, limits
        with trouble_of(path):
            self._size = local_path(path).stat().st_size
        self._bytes = 0

    def add(self, count: int) -> None:
        self._bytes += count
        if self._bytes > self._limits.unpacked_bytes:
            what = f"it unpacks to more than {self._limits.unpacked_bytes:,} bytes"
            raise Refused(self._path, beyond("unpacked_bytes", what))
        ratio = self._limits.unpacked_ratio
        if self._bytes > max(LIMITS.ratio_from_bytes, ratio * self._size):
            what = f"its {self._size:,} bytes unpack to more than {ratio} times as many"
            raise Refused(self._path, beyond("unpacked_ratio", what))


class _Unpacked(io.RawIOBase):
    def __init__(self, path: str, inner: Any, outer: Any, limits: FileLimits) -> None:
        self._path, self._inner, self._outer = path, inner, outer
        self._sizes = Unpacking(path, limits)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _damage(self._path), packing_trouble(self._path):
            data = self._inner.read(len(buffer))
        self._sizes.add(len(data))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._outer.close()
        super().close()
