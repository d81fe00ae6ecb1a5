"""Shapefiles: are all the parts there, and each as long as it says?"""

from __future__ import annotations

import codecs
import struct
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from geostrata.printable import printable
from geostrata.readers.dbf import DbfNumbers
from geostrata.readers.errors import HalfWritten, Refused
from geostrata.readers.files import LandedFile, local_path
from geostrata.readers.ogr_plan import OgrPlan, extract
from geostrata.readers.packing import directory, packing
from geostrata.readers.spec import SourceSpec
from geostrata.readers.text import encoding_of

ENDINGS = (".shp",)
MAGIC = b"\x00\x00\x27\x0a"
_PARTS = (".shp", ".shx", ".dbf", ".prj", ".cpg")
_LONGEST_PRJ = 1 << 20
# Where the number of points is in lines and polygons, and in multipoints; each also with Z and with M.
_POINT_COUNT = {**dict.fromkeys((3, 5, 13, 15, 23, 25, 31), 40), **dict.fromkeys((8, 18, 28), 36)}
_SHX_AT_ONCE = 1 << 16
_SHP_HEADER, _SHX_RECORD, _DBF_HEADER, _DBF_LANGUAGE = 100, 8, 32, 29


def prepare(file: LandedFile, spec: SourceSpec, folder: Path) -> OgrPlan:
    """GDAL sees the parts under one name in a folder of ours, where a missing .shx is made. By ourselves: told to make one
    (SHAPE_RESTORE_SHX), GDAL overwrites those that are there as well, and through the link that would be the landed file."""
    is_zip = packing(file.path) == "zip"
    parts = _parts(file, spec, folder)
    if ".prj" in parts:
        parts[".prj"] = _as_utf8(parts[".prj"])
    _check_main(file, parts[".shp"])
    features = _indexed(file, parts) if ".shx" in parts else _index(file, parts[".shp"])
    if ".dbf" in parts:
        _check_table(file, parts[".dbf"], features)
    elif not is_zip and set(spec.declared) - {spec.geometry_column()}:
        # A zip is complete by itself; loose files come one after the other.
        raise HalfWritten(
            file.path, "its .dbf, which holds the attributes, has not landed; left for the next run"
        )
    numbers = DbfNumbers(parts[".dbf"]) if ".dbf" in parts else None
    shapes = _Shapes(parts[".shp"])
    return OgrPlan(str(parts[".shp"]), encoding=_encoding(spec), numbers=numbers, shapes=shapes)


@dataclass(frozen=True)
class _Shapes:
    path: Path

    def of(self, meta: dict[str, Any], features: list[int]) -> dict[int, bytes]:
        found = {}
        with self.path.open("rb") as stream, self.path.with_suffix(".shx").open("rb") as index:
            for feature in features:
                index.seek(_SHP_HEADER + feature * _SHX_RECORD)
                offset, length = struct.unpack(">ii", index.read(_SHX_RECORD))
                stream.seek(2 * offset + 8)
                shape = stream.read(2 * max(0, length))
                if not _is_empty(shape):
                    found[feature] = shape
        return found


def _is_empty(shape: bytes) -> bool:
    """The null shape, or one that says that it has no points."""
    kind = int.from_bytes(shape[:4], "little")
    count = shape[_POINT_COUNT.get(kind, 0) :][:4]
    return kind == 0 or (kind in _POINT_COUNT and not any(count))


def _encoding(spec: SourceSpec) -> str | None:
    """By the one name that GDAL knows too: it passes over latin-1, and gives the bytes as they are."""
    option = spec.options.get("encoding")
    return None if option is None else codecs.lookup(encoding_of(b"", option)).name


def table_text(file: LandedFile, spec: SourceSpec, size: int) -> bytes:
    """The first rows of the .dbf, if neither a .cpg nor the table itself says what their encoding is."""
    with tempfile.TemporaryDirectory(prefix="geostrata-") as folder:
        parts = _parts(file, spec, Path(folder))
        if ".dbf" not in parts or ".cpg" in parts:
            return b""
        with parts[".dbf"].open("rb") as stream:
            header = stream.read(_DBF_HEADER)
            if len(header) < _DBF_HEADER or header[_DBF_LANGUAGE]:
                return b""
            stream.seek(int.from_bytes(header[8:10], "little"))
            return stream.read(size)


def _parts(file: LandedFile, spec: SourceSpec, folder: Path) -> dict[str, Path]:
    return _from_zip(file, spec, folder) if packing(file.path) == "zip" else _beside(file, folder)


def _beside(file: LandedFile, folder: Path) -> dict[str, Path]:
    main = local_path(file.path)
    parts = {}
    for other in main.parent.iterdir():
        ending = other.suffix.lower()
        if ending in _PARTS and (other.stem == main.stem or other == main):
            if other != main:
                _check_part(file.path, other)
            link = folder / f"content{ending}"
            if not link.exists():
                link.symlink_to(other.resolve())
            parts[ending] = link
    if ".shp" not in parts:
        raise Refused(file.path, "a shapefile ends in .shp or .zip; name that part of it")
    return parts


def _check_part(path: str, part: Path) -> None:
    """Not listed by itself: a pipe would never end, and a link may lead to what nobody delivered."""
    if not part.is_file():
        raise Refused(path, f"{printable(part.name)} beside it is no file; remove it")
    if part.is_symlink() and not part.resolve().is_relative_to(part.parent.resolve()):
        raise Refused(
            path, f"{printable(part.name)} beside it is a link out of its folder; deliver the file itself"
        )


def _as_utf8(prj: Path) -> Path:
    """Old programs write names with umlauts in their own encoding; pyogrio fails on what is not UTF-8."""
    with prj.open("rb") as stream:
        data = stream.read(_LONGEST_PRJ)
    try:
        data.decode()
    except UnicodeDecodeError:
        # Unlinked first: it may be a link to the landed file.
        prj.unlink()
        prj.write_text(data.decode("latin-1"), encoding="utf-8")
    return prj


def _from_zip(file: LandedFile, spec: SourceSpec, folder: Path) -> dict[str, Path]:
    entries = directory(file.path)
    mains = [entry for entry in entries if entry.filename.lower().endswith(ENDINGS)]
    wanted = spec.options.get("layer")
    if wanted is not None:
        mains = [entry for entry in mains if PurePosixPath(entry.filename).stem == wanted]
    if len(mains) != 1:
        names = ", ".join(PurePosixPath(entry.filename).name for entry in mains[:5]) or "none"
        raise Refused(file.path, f"the zip must hold one .shp, or option layer name one; it holds {names}")
    parts: dict[str, Path] = {}
    for entry in entries:
        ending = PurePosixPath(entry.filename).suffix.lower()
        if ending in _PARTS and _stem(entry) == _stem(mains[0]) and ending not in parts:
            parts[ending] = folder / f"content{ending}"
            extract(file.path, entry, parts[ending], spec.limits)
    return parts


def _stem(entry: zipfile.ZipInfo) -> PurePosixPath:
    return PurePosixPath(entry.filename).with_suffix("")


def _check_main(file: LandedFile, path: Path) -> None:
    with path.open("rb") as stream:
        header = stream.read(_SHP_HEADER)
    if not header.startswith(MAGIC) and not (len(header) < len(MAGIC) and MAGIC.startswith(header)):
        raise Refused(file.path, "it does not begin as a shapefile does; check the source's format")
    if len(header) < _SHP_HEADER or path.stat().st_size < _promised(header):
        raise _cut(file.path, ".shp")


def _promised(header: bytes) -> int:
    """Lengths are in words of two bytes."""
    return 2 * int.from_bytes(header[24:28], "big")


def _indexed(file: LandedFile, parts: dict[str, Path]) -> int:
    """Records of the index, each of which must lie in the main file. GDAL gives null for those that don't."""
    main_size = parts[".shp"].stat().st_size
    with parts[".shx"].open("rb") as stream:
        header = stream.read(_SHP_HEADER)
        if len(header) < _SHP_HEADER or parts[".shx"].stat().st_size < _promised(header):
            raise _cut(file.path, ".shx")
        count = 0
        while entries := stream.read(_SHX_RECORD * _SHX_AT_ONCE):
            entries = entries[: len(entries) // _SHX_RECORD * _SHX_RECORD]
            for offset, length in struct.iter_unpack(">ii", entries):
                count += 1
                if 2 * (offset + length) + 8 > main_size:
                    raise HalfWritten(
                        file.path,
                        f"its .shx has record {count} behind the end of the .shp; left for the next run",
                    )
    return count


def _index(file: LandedFile, path: Path) -> int:
    """The index that did not come: the records of the main file, one behind the other."""
    count, size = 0, path.stat().st_size
    with path.open("rb") as stream, path.with_suffix(".shx").open("w+b") as index:
        header = stream.read(_SHP_HEADER)
        at, end = _SHP_HEADER, _promised(header)
        index.write(header)
        while at < end:
            record = stream.read(8)
            length = int.from_bytes(record[4:8], "big", signed=True)
            count += 1
            if len(record) < 8 or length < 0 or at + 8 + 2 * length > size:
                raise Refused(file.path, f"record {count} of the .shp is damaged; deliver it again")
            index.write(struct.pack(">ii", at // 2, length))
            at += 8 + 2 * length
            stream.seek(at)
        index.seek(24)
        index.write(struct.pack(">i", (_SHP_HEADER + count * _SHX_RECORD) // 2))
    return count


def _check_table(file: LandedFile, path: Path, features: int) -> None:
    with path.open("rb") as stream:
        header = stream.read(_DBF_HEADER)
    if len(header) < _DBF_HEADER:
        raise _cut(file.path, ".dbf")
    rows = int.from_bytes(header[4:8], "little")
    promised = int.from_bytes(header[8:10], "little") + rows * int.from_bytes(header[10:12], "little")
    if path.stat().st_size < promised:
        raise _cut(file.path, ".dbf")
    if rows != features:
        raise HalfWritten(
            file.path,
            f"{features} shapes and {rows} rows in its .dbf: not of one writing; left for the next run",
        )


def _cut(path: str, part: str) -> HalfWritten:
    return HalfWritten(path, f"its {part} is shorter than its header says; left for the next run")
