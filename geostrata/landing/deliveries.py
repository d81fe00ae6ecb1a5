"""Deliveries of files: what makes one, and in which order they were seen.

A file is delivered again when its time, size or content differ from the last delivery of its path, whether that content is new or was
there before. The bronze table is the record: each row says of which delivery it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from geostrata.readers import LandedFile
from geostrata.readers.files import local_path, open_file
from geostrata.readers.spec import SourceSpec

# Between a file and its layer, as QGIS writes it.
LAYER = "|layername="
_HASHED_AT_ONCE = 1 << 20
# A file server's clock may be behind that of the machine that loads.
_CLOCKS_DIFFER_BY_MS = 60_000


@dataclass(frozen=True)
class Delivery:
    """A file as it is loaded, or was."""

    file: LandedFile
    # In the order in which runs saw them. A full refresh keeps it.
    number: int = 0
    fingerprint: str | None = None
    loaded_ms: int = 0
    # False of one that was refused: it takes nobody's place.
    is_accepted: bool = True

    @classmethod
    def recorded(
        cls, path: str, number: int, modified_ms: int, fingerprint: str, loaded_ms: int, is_accepted: bool
    ) -> Delivery:
        """As the rows of a bronze table say. A fingerprint of a size alone means that the content was never hashed."""
        size, _, content = fingerprint.partition("-")
        file = LandedFile(path, int(size), modified_ms)
        return cls(file, number, fingerprint if content else None, loaded_ms, is_accepted)


def label(path: str, spec: SourceSpec) -> str:
    """How rows name their file: two layers of one file are two deliveries."""
    layer = spec.options.get("layer")
    return f"{path}{LAYER}{layer}" if layer else path


def fingerprint(file: LandedFile) -> str:
    """Size and content. A shapefile's parts count together."""
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(file.path):
        with open_file(str(part)) as stream:
            while block := stream.read(_HASHED_AT_ONCE):
                digest.update(block)
    return f"{file.size}-{digest.hexdigest()}"


def _parts(path: str) -> list[Path]:
    whole = local_path(path)
    if whole.suffix.lower() != ".shp":
        return [whole]
    return sorted(part for part in whole.parent.glob(f"{whole.stem}.*") if part.is_file())


class Known:
    """What a bronze table has seen of a source's files, by the names that its rows give them."""

    def __init__(self, deliveries: Iterable[Delivery]) -> None:
        self._of: dict[str, list[Delivery]] = {}
        self.newest = 0
        for delivery in sorted(deliveries, key=lambda one: one.number):
            self._of.setdefault(delivery.file.path, []).append(delivery)
            self.newest = max(self.newest, delivery.number)

    @property
    def paths(self) -> set[str]:
        return set(self._of)

    @property
    def accepted(self) -> set[str]:
        return {name for name, seen in self._of.items() if any(one.is_accepted for one in seen)}

    def last(self, name: str) -> Delivery | None:
        return self._of[name][-1] if name in self._of else None

    def is_known(self, name: str, file: LandedFile) -> bool:
        last = self.last(name)
        return last is not None and _is_alike(last.file, file)

    def is_doubtful(self, name: str, file: LandedFile, compared_ms: int = 0) -> bool:
        """Time and size are as they were, but something was done to the file since it was loaded: only its content can tell."""
        last = self.last(name)
        if last is None or not self.is_known(name, file):
            return False
        return file.changed_ms >= max(last.loaded_ms, compared_ms) - _CLOCKS_DIFFER_BY_MS

    def has_other_content(self, name: str, fingerprint: str | None) -> bool:
        """False if the content was or is unknown: time and size are as they were."""
        last = self.last(name)
        before = last.fingerprint if last else None
        return None not in (before, fingerprint) and before != fingerprint

    def numbered(self, names: Sequence[tuple[str, LandedFile]]) -> list[Delivery]:
        """New deliveries, in their order."""
        return [Delivery(file, self.newest + at) for at, (_, file) in enumerate(names, start=1)]

    def again(self, name: str, file: LandedFile) -> Delivery | None:
        """The delivery that a file on a full refresh is: the last one of its path, if it is still that."""
        last = self.last(name)
        if last is None or not _is_alike(last.file, file):
            return None
        return Delivery(file, last.number)


def _is_alike(one: LandedFile, other: LandedFile) -> bool:
    return (one.modified_ms, one.size) == (other.modified_ms, other.size)
