"""PostGIS: loaded and indexed first, which is shown apart."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import shapely

from benchmarks.spatial import answers
from benchmarks.spatial.answers import Answer
from benchmarks.spatial.cases import EQUAL_AREA, METRES, NEIGHBOURS
from benchmarks.spatial.engines.base import Engine, UnavailableError, nearest_of
from benchmarks.spatial.postgres import Server

# A row of PostgreSQL's binary COPY: two fields, each behind its length; the second is a point as EWKB, with its SRID.
_POINT_ROW = np.dtype(
    [("fields", ">i2"), ("size1", ">i4"), ("id", ">i8"), ("size2", ">i4"),
     ("order", "u1"), ("kind", "<u4"), ("srid", "<u4"), ("x", "<f8"), ("y", "<f8")]
)  # fmt: skip
_SRID = 4326
_SRID_FLAG = 0x20000000
_COPY_HEAD, _COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


class PostGIS(Engine):
    def prepare(self) -> None:
        try:
            import psycopg  # noqa: F401  # only to see that it is installed
        except ImportError as error:
            raise UnavailableError(f"the package {error.name} is not installed") from None
        self.server = Server(self.scratch, self.data.folder.parent / "postgis")
        self.exits.callback(self.server.close)
        self.sql = self.server.connection.execute
        began = time.monotonic()
        for name, file in (("lefts", self.left), ("rights", self.right)):
            self._load(name, file)
        self.steps[f"{self.case.name}-load"] = time.monotonic() - began

    def join(self) -> Answer:
        found = self._columns(
            """select rights.id, count(*), sum(lefts.id)::bigint
            from rights join lefts on ST_Contains(rights.geometry, lefts.geometry) group by rights.id"""
        )
        return answers.pairs(*found)

    def overlay(self) -> Answer:
        srid = EQUAL_AREA.removeprefix("EPSG:")
        found = self._columns(
            f"""select lefts.id, rights.id,
            ST_Area(ST_Transform(ST_Intersection(lefts.geometry, rights.geometry), {srid}))
            from rights join lefts on ST_Intersects(rights.geometry, lefts.geometry)"""
        )
        return answers.pieces(*found)

    def nearest(self) -> Answer:
        # One more than asked for: the plane may take the last two for each other, no others.
        found = self._columns(
            f"""select lefts.id, near.id, near.distance_m
            from lefts
            cross join lateral (
                select
                    candidates.id,
                    ST_DistanceSpheroid(lefts.geometry, candidates.geometry) as distance_m
                from (
                    select rights.id, rights.geometry from rights
                    order by rights.metres <-> lefts.metres limit {NEIGHBOURS + 1}
                ) as candidates
            ) as near"""
        )
        order = np.lexsort((found[1], found[2], found[0]))
        return nearest_of(*(column[order] for column in found))

    def _load(self, name: str, file: str) -> None:
        self.sql(f"create unlogged table {name} (id bigint, geometry geometry)")
        # Not compressed: large shapes are read again and again.
        self.sql(f"alter table {name} alter column geometry set storage external")
        cursor = self.server.connection.cursor()
        with cursor.copy(f"copy {name} from stdin (format binary)") as copy:
            copy.write(_COPY_HEAD)
            for batch in pq.ParquetFile(file).iter_batches(100_000):
                copy.write(_copy_rows(batch))
            copy.write(_COPY_END)
        if self.case.kind == "nearest":
            srid = METRES.removeprefix("EPSG:")
            self.sql(f"alter table {name} add column metres geometry")
            self.sql(f"update {name} set metres = ST_Transform(geometry, {srid})")
            self.sql(f"create index on {name} using gist (metres)")
        self.sql(f"create index on {name} using gist (geometry)")
        self.sql(f"vacuum analyze {name}")

    def _columns(self, sql: str) -> list[Any]:
        with self.server.connection.cursor(binary=True) as cursor:
            return [np.array(column) for column in zip(*cursor.execute(sql).fetchall(), strict=True)]


def _copy_rows(batch: Any) -> bytes:
    ids = batch.column(0).to_numpy()
    shapes = shapely.from_wkb(batch.column(1).to_numpy(zero_copy_only=False))
    if (shapely.get_type_id(shapes) == shapely.GeometryType.POINT).all():
        rows = np.zeros(len(ids), _POINT_ROW)
        rows["fields"], rows["size1"], rows["size2"], rows["id"] = 2, 8, 25, ids
        rows["order"], rows["kind"], rows["srid"] = 1, 1 | _SRID_FLAG, _SRID
        rows["x"], rows["y"] = shapely.get_coordinates(shapes).T
        return rows.tobytes()
    blobs = shapely.to_wkb(shapely.set_srid(shapes, _SRID), include_srid=True)
    parts = []
    for number, blob in zip(ids.tolist(), blobs, strict=True):
        parts += [
            b"\0\2\0\0\0\x08",
            number.to_bytes(8, "big"),
            len(blob).to_bytes(4, "big"),
            blob,
        ]
    return b"".join(parts)
