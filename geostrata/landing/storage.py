"""Files that lie in a bucket: listed, and copied to the worker's disk one at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from geostrata.errors import GeostrataError
from geostrata.readers import HalfWritten, LandedFile, landed
from geostrata.readers.errors import Passing, in_words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COPIED_AT_ONCE = 8 << 20


@dataclass(frozen=True)
class Storage:
    """How a bucket is reached: what Hadoop's settings for s3a say, else what the environment says, as for any AWS client."""

    endpoint: str | None = None
    access_key: str | None = None
    # Not for logs.
    secret_key: str | None = None
    session_token: str | None = None
    region: str | None = None

    @classmethod
    def of_session(cls, spark: SparkSession) -> Storage:
        hadoop = spark._jsparkSession.sessionState().newHadoopConf()
        names = {
            "endpoint": "endpoint",
            "access_key": "access.key",
            "secret_key": "secret.key",
            "session_token": "session.token",
            "region": "endpoint.region",
        }
        return cls(**{field: hadoop.get(f"fs.s3a.{name}") or None for field, name in names.items()})

    def __repr__(self) -> str:
        return f"Storage(endpoint={self.endpoint!r})"

    def open(self, location: str) -> tuple[Any, str]:
        """The file system and the path in it."""
        from pyarrow import fs

        scheme, path = location.split("://", 1)
        if scheme in ("s3", "s3a", "s3n"):
            given = {
                "endpoint_override": self.endpoint,
                "access_key": self.access_key,
                "secret_key": self.secret_key,
                "session_token": self.session_token,
                "region": self.region,
            }
            return fs.S3FileSystem(**{name: value for name, value in given.items() if value}), path
        if scheme in ("gs", "gcs"):
            return fs.GcsFileSystem(), path
        raise GeostrataError(f"{location}: files land in a folder, s3a:// or gs://, not in {scheme}://")


ENVIRONMENT = Storage()


class ReplacedMeanwhile(HalfWritten):
    """The object is not the one that was listed. The next run lists it anew."""


def is_bucket(location: str) -> bool:
    return "://" in location and not location.startswith("file:")


def list_bucket(location: str, storage: Storage) -> list[LandedFile] | None:
    """All objects below a prefix; None if there are none and no such folder either."""
    from pyarrow import fs

    system, prefix = storage.open(location)
    scheme = location.split("://", 1)[0]
    try:
        selector = fs.FileSelector(prefix, recursive=True)
        found = system.get_file_info(selector)
    except FileNotFoundError:
        return None
    except OSError as trouble:
        raise GeostrataError(
            f"{location}: it can't be listed: {' '.join(str(trouble).split())[:300]}"
        ) from None
    return [
        LandedFile(f"{scheme}://{info.path}", info.size, info.mtime_ns // 1_000_000)
        for info in found
        if info.type == fs.FileType.File
    ]


@contextmanager
def local_copy(file: LandedFile, storage: Storage) -> Iterator[LandedFile]:
    """The file itself if it is local, else a copy that is gone afterwards. A shapefile comes with its parts."""
    if not is_bucket(file.path):
        yield file
        return
    system, path = storage.open(file.path)
    with tempfile.TemporaryDirectory(prefix="geostrata-") as folder:
        with _trouble_of(file.path):
            for part in _parts(system, path):
                with (
                    system.open_input_stream(part) as source,
                    (Path(folder) / Path(part).name).open("wb") as target,
                ):
                    shutil.copyfileobj(source, target, _COPIED_AT_ONCE)
        copy = landed(str(Path(folder) / Path(path).name))
        if copy.size != file.size:
            raise ReplacedMeanwhile(
                file.path, f"{copy.size} bytes, listed with {file.size}; left for the next run"
            )
        yield replace(copy, modified_ms=file.modified_ms)


def touch(file: LandedFile, storage: Storage) -> None:
    """Raises what fetching an object would: that it is gone, may not be read, or is out of reach."""
    system, path = storage.open(file.path)
    with _trouble_of(file.path), system.open_input_stream(path) as source:
        source.read(1)


@contextmanager
def _trouble_of(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ReplacedMeanwhile(path, "it is gone since it was listed; the next run looks again") from None
    except OSError as trouble:
        raise Passing(path, f"it can't be fetched now ({in_words(trouble)}); left for the next run") from None


def _parts(system: Any, path: str) -> list[str]:
    from pyarrow import fs

    if not path.lower().endswith(".shp"):
        return [path]
    whole = PurePosixPath(path)
    beside = system.get_file_info(fs.FileSelector(str(whole.parent)))
    stem = whole.stem.lower()
    return [info.path for info in beside if PurePosixPath(info.path).stem.lower() == stem]
