"""How GDAL shall open a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from zipfile import ZipInfo

from geostrata.readers.dbf import DbfNumbers
from geostrata.readers.errors import Refused
from geostrata.readers.files import LandedFile, local_path
from geostrata.readers.limits import FileLimits
from geostrata.readers.packing import only_member, open_member, packing


@dataclass(frozen=True)
class OgrPlan:
    source: str
    # None where there is but one.
    layer: str | None = None
    encoding: str | None = None
    open_options: dict[str, str] = field(default_factory=dict)
    # As the file says itself, where it does.
    features: int | None = None
    # The table of a shapefile, for numbers that GDAL would round.
    numbers: DbfNumbers | None = None
    # For geometries that GDAL can't read, and gives null for: what stands in the file.
    shapes: RawShapes | None = None


class RawShapes(Protocol):
    def of(self, meta: dict[str, Any], features: list[int]) -> dict[int, bytes]:
        """By feature, the bytes of its geometry; without those that have none."""


def unpacked(file: LandedFile, endings: tuple[str, ...], folder: Path, limits: FileLimits) -> Path:
    """The file itself, or the one in its zip, unpacked: GDAL jumps about in it. Under a name of ours, since GDAL and pyogrio
    read more into a path than its name: what stands behind a `!` would be looked for in an archive."""
    kind = packing(file.path)
    target = folder / f"content{endings[0]}"
    if kind is None:
        target.symlink_to(local_path(file.path).resolve())
    elif kind == "gzip":
        raise Refused(file.path, f"a {endings[0]} file in gzip; deliver it plain or in a zip")
    else:
        extract(file.path, only_member(file.path, endings), target, limits)
    return target


def extract(path: str, entry: ZipInfo, target: Path, limits: FileLimits) -> None:
    with open_member(path, entry, limits) as source, target.open("wb") as copy:
        while piece := source.read(1 << 20):
            copy.write(piece)
