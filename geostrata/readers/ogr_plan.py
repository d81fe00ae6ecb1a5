"""How GDAL shall open a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipInfo

from geostrata.readers.dbf import DbfNumbers
from geostrata.readers.errors import Refused
from geostrata.readers.files import LandedFile, local_path
from geostrata.readers.packing import only_member, open_member, packing


@dataclass(frozen=True)
class OgrPlan:
    source: str
    encoding: str | None = None
    open_options: dict[str, str] = field(default_factory=dict)
    # As the file says itself, where it does.
    features: int | None = None
    # The table of a shapefile, for numbers that GDAL would round.
    numbers: DbfNumbers | None = None


def unpacked(file: LandedFile, endings: tuple[str, ...], folder: Path) -> Path:
    """The file itself, or the one in its zip, unpacked: GDAL jumps about in it."""
    kind = packing(file.path)
    if kind is None:
        return local_path(file.path)
    if kind == "gzip":
        raise Refused(file.path, f"a {endings[0]} file in gzip; deliver it plain or in a zip")
    entry = only_member(file.path, endings)
    target = folder / f"content{endings[0]}"
    extract(file.path, entry, target)
    return target


def extract(path: str, entry: ZipInfo, target: Path) -> None:
    with open_member(path, entry) as source, target.open("wb") as copy:
        while piece := source.read(1 << 20):
            copy.write(piece)
