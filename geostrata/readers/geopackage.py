"""GeoPackage: is the SQLite database in it whole?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geostrata.readers.errors import HalfWritten, Refused
from geostrata.readers.files import LandedFile, local_path
from geostrata.readers.ogr_plan import OgrPlan, unpacked
from geostrata.readers.spec import SourceSpec

ENDINGS = (".gpkg",)
MAGIC = b"SQLite format 3\0"


def prepare(file: LandedFile, spec: SourceSpec, folder: Path) -> OgrPlan:
    path = unpacked(file, ENDINGS, folder)
    with path.open("rb") as stream:
        header = stream.read(100)
    size = path.stat().st_size
    if not header.startswith(MAGIC):
        if header and MAGIC.startswith(header):
            raise _cut(file.path)
        raise Refused(file.path, "it does not begin as a GeoPackage does; check the source's format")
    if len(header) < 100 or size < _promised_size(header):
        raise _cut(file.path)
    landed = local_path(file.path)
    for ending in ("-wal", "-journal"):
        log = landed.with_name(landed.name + ending)
        if log.exists() and log.stat().st_size:
            raise HalfWritten(file.path, f"{log.name} beside it: it is being written; left for the next run")
    # Immutable: SQLite neither locks the landed file nor puts anything beside it.
    return OgrPlan(str(path), open_options={"IMMUTABLE": "YES"}, shapes=_Blobs(path))


@dataclass(frozen=True)
class _Blobs:
    path: Path

    def of(self, meta: dict[str, Any], features: list[int]) -> dict[int, bytes]:
        table, key, column = (
            quoted(str(meta[name])) for name in ("layer_name", "fid_column", "geometry_name")
        )
        marks = ",".join("?" * len(features))
        query = f"select {key}, cast({column} as blob) from {table} where {key} in ({marks}) and length({column}) > 0"
        address = f"{self.path.resolve().as_uri()}?immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as database:
            try:
                return dict(database.execute(query, features))
            except sqlite3.DatabaseError:
                # A view without such a key, or a damaged page: then it stays what GDAL made of it.
                return {}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _promised_size(header: bytes) -> int:
    """Pages times page size; 0 where an old SQLite did not keep the count (the two stamps differ then)."""
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    return pages * (65536 if page == 1 else page) if header[24:28] == header[92:96] else 0


def _cut(path: str) -> HalfWritten:
    return HalfWritten(path, "the GeoPackage is shorter than its header says; left for the next run")
