"""DuckDB with its spatial extension: its spatial join operator, straight from Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.spatial import answers
from benchmarks.spatial.answers import Answer
from benchmarks.spatial.cases import EQUAL_AREA, METRES, NEIGHBOURS
from benchmarks.spatial.data import WINDOW
from benchmarks.spatial.engines.base import Engine, UnavailableError

# Metres in which to look for neighbours first; whoever has too few there looks twice as far.
_FIRST_REACH_M = 1_500


class Duck(Engine):
    def prepare(self) -> None:
        try:
            import duckdb
            import duckdb_extension_spatial
        except ImportError as error:
            raise UnavailableError(f"the package {error.name} is not installed") from None
        self.connection = duckdb.connect()
        folder = Path(duckdb_extension_spatial.__file__).parent
        self.connection.load_extension(str(next(folder.rglob("*.duckdb_extension"))))

    def join(self) -> Answer:
        key = self.case.right_key
        # ST_Within is the quickest of the three ways to say it.
        found = self._columns(
            f"""select shapes.{key}, count(*) as count, sum(points.point_id)::bigint as total
            from '{self.left}' as points join '{self.right}' as shapes
            on ST_Within(points.geometry, shapes.geometry) group by all"""
        )
        return answers.pairs(found[key], found["count"], found["total"])

    def overlay(self) -> Answer:
        key = self.case.right_key
        found = self._columns(
            f"""select parcels.parcel_id, shapes.{key},
            ST_Area(ST_Transform(ST_Intersection(parcels.geometry, shapes.geometry), 'OGC:CRS84', '{EQUAL_AREA}')) as area
            from '{self.left}' as parcels join '{self.right}' as shapes
            on ST_Intersects(parcels.geometry, shapes.geometry)"""
        )
        return answers.pieces(found["parcel_id"], found[key], found["area"])

    def nearest(self) -> Answer:
        """There is no join by neighbours: the spatial join by distance, in steps."""
        run = self.connection.execute
        for name, key, file in (
            ("facilities", "facility_id", self.right),
            ("queries", "point_id", self.left),
        ):
            run(
                f"""create or replace temp table {name} as select {key}, ST_FlipCoordinates(geometry) as place,
                ST_Transform(geometry, 'OGC:CRS84', '{METRES}') as metres from '{file}'"""
            )
        run("create or replace temp table found (point_id bigint, near struct(d double, id bigint)[])")
        reach = _FIRST_REACH_M
        while run("from queries limit 1").fetchall():
            # The plane's distances and the spheroid's differ by less than a thousandth here.
            run(
                f"""insert into found
                with pairs as (
                    select point_id, ST_Distance_Spheroid(
                        ST_Point2D(ST_X(queries.place), ST_Y(queries.place)),
                        ST_Point2D(ST_X(facilities.place), ST_Y(facilities.place))
                    ) as distance, facility_id
                    from queries join facilities on ST_DWithin(queries.metres, facilities.metres, {reach}::double)
                ),
                nearest as (
                    select point_id, min(struct_pack(d := distance, id := facility_id), {NEIGHBOURS}) as near
                    from pairs group by all
                )
                select * from nearest
                where len(near) = {NEIGHBOURS} and near[{NEIGHBOURS}].d < {0.999 * reach}"""
            )
            run("create or replace temp table queries as from queries anti join found using (point_id)")
            reach *= 2
        found = self._columns("select point_id, unnest(near, recursive := true) from found")
        rank = np.arange(len(found["point_id"])) % NEIGHBOURS
        return answers.neighbours(found["point_id"], rank, found["id"], found["d"])

    def window(self) -> Answer:
        west, south, east, north = WINDOW
        found = self._columns(
            f"""select point_id from '{self.left}'
            where ST_Intersects(geometry, ST_SetCRS(ST_MakeEnvelope({west}, {south}, {east}, {north}), 'OGC:CRS84'))"""
        )
        return answers.rows(found["point_id"])

    def _columns(self, sql: str) -> dict[str, Any]:
        found: dict[str, Any] = self.connection.execute(sql).fetchnumpy()
        return found
