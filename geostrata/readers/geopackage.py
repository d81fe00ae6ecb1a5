"""GeoPackage: is the SQLite database in it whole?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geostrata.readers.errors import HalfWritten, Refused
from geostrata.readers.files import LandedFile, local_path
from geostrata.readers.limits import LIMITS
from geostrata.readers.ogr_plan import OgrPlan, unpacked
from geostrata.readers.spec import SourceSpec

ENDINGS = (".gpkg",)
MAGIC = b"SQLite format 3\0"
# The second one: what Python's sqlite3 says of a damaged schema may hold bytes of it.
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
# Of the layers, so many are named.
_TOLD = 20
_LAYERS = ("features", "attributes", "aspatial")
_OWN_TABLES = ("gpkg_", "rtree_", "sqlite_")


def prepare(file: LandedFile, spec: SourceSpec, folder: Path) -> OgrPlan:
    path = unpacked(file, ENDINGS, folder, spec.limits)
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
    return OgrPlan(
        str(path), layer=_layer(file, spec, path), open_options={"IMMUTABLE": "YES"}, shapes=_Blobs(path)
    )


def _opened(path: Path) -> closing[sqlite3.Connection]:
    database = sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)
    # The schema is the file's, and so are the functions that its views call.
    database.execute("pragma trusted_schema = off")
    return closing(database)


def _layer(file: LandedFile, spec: SourceSpec, path: Path) -> str:
    try:
        tables, layers = _layers(path)
    except _DAMAGE as error:
        words = " ".join(str(error).split())[:200]
        raise Refused(file.path, f"the GeoPackage is damaged ({words}); deliver it again") from None
    wanted = spec.options.get("layer")
    names = ", ".join(layers[:_TOLD]) or "none"
    if wanted is not None:
        if wanted not in tables:
            raise Refused(file.path, f"layer {wanted} is not in it; option layer must be one of: {names}")
        return wanted
    if not layers:
        raise Refused(file.path, "it has no layer: a database without a table of features; deliver it again")
    # QGIS keeps its styles in a table of this name.
    layers = [name for name in layers if name != "layer_styles"] or layers
    if len(layers) != 1:
        raise Refused(file.path, f"it has {len(layers)} layers; set option layer to one of: {names}")
    return layers[0]


def _layers(path: Path) -> tuple[list[str], list[str]]:
    """All tables, and those that are layers to GDAL. Not asked of GDAL, which can't be told then that the file is immutable:
    of a GeoPackage in WAL mode it would leave two files beside the landed one."""
    with _opened(path) as database:
        query = "select name, type from sqlite_master where type in ('table', 'view')"
        listed = database.execute(query).fetchmany(LIMITS.layers)
        tables = {str(name).lower(): str(name) for name, _ in listed}
        # GDAL asks them too. A view may be endless; as a layer it is bounded like any table.
        for name, kind in listed:
            if kind == "view" and str(name).lower().startswith(_OWN_TABLES[0]):
                raise sqlite3.DatabaseError(f"{name} is a view, not a table")
        query = "select table_name, data_type from gpkg_contents"
        contents = database.execute(query).fetchmany(LIMITS.layers)
        query = "select table_name from gpkg_geometry_columns"
        spatial = {str(name).lower() for (name,) in database.execute(query).fetchmany(LIMITS.layers)}
        query = "select count(*) from gpkg_extensions where extension_name = 'gdal_aspatial'"
        has_extension = "gpkg_extensions" in tables and database.execute(query).fetchone()[0]
    kinds = {str(name): str(kind) for name, kind in contents}
    layers = [
        name
        for name, kind in kinds.items()
        if name.lower() in (spatial & set(tables) if kind == "features" else tables) and kind in _LAYERS
    ]
    if not has_extension and not set(kinds.values()) & {"attributes", "aspatial"}:
        # Nobody said which tables without geometry are meant: then all are.
        known = {name.lower() for name in kinds}
        layers += [
            name for key, name in tables.items() if key not in known and not key.startswith(_OWN_TABLES)
        ]
    return list(tables.values()), layers


@dataclass(frozen=True)
class _Blobs:
    path: Path

    def of(self, meta: dict[str, Any], features: list[int]) -> dict[int, bytes]:
        table, key, column = (
            quoted(str(meta[name])) for name in ("layer_name", "fid_column", "geometry_name")
        )
        marks = ",".join("?" * len(features))
        query = f"select {key}, cast({column} as blob) from {table} where {key} in ({marks}) and length({column}) > 0"
        with _opened(self.path) as database:
            try:
                return dict(database.execute(query, features))
            except _DAMAGE:
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
