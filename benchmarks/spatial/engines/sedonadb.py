"""SedonaDB: its spatial joins on DataFusion, straight from Parquet."""

from __future__ import annotations

from typing import Any

from benchmarks.spatial import answers
from benchmarks.spatial.answers import Answer
from benchmarks.spatial.cases import EQUAL_AREA, METRES, NEIGHBOURS
from benchmarks.spatial.engines.base import Engine, UnavailableError, by_spheroid


class SedonaDB(Engine):
    def prepare(self) -> None:
        try:
            import geoarrow.pyarrow  # noqa: F401  # only to see that it is installed
            import sedonadb
        except ImportError as error:
            raise UnavailableError(f"the package {error.name} is not installed") from None
        self.context = sedonadb.connect()
        self.context.read_parquet(self.left).to_view("lefts")
        self.context.read_parquet(self.right).to_view("rights")

    def join(self) -> Answer:
        key = self.case.right_key
        found = self._columns(
            f"""select rights.{key} as id, count(*) as points, sum(lefts.point_id) as total
            from lefts join rights on ST_Within(lefts.geometry, rights.geometry) group by rights.{key}"""
        )
        return answers.pairs(found["id"], found["points"], found["total"])

    def overlay(self) -> Answer:
        key = self.case.right_key
        found = self._columns(
            f"""select lefts.parcel_id, rights.{key} as id,
            ST_Area(ST_Transform(ST_Intersection(lefts.geometry, rights.geometry), '{EQUAL_AREA}')) as area
            from lefts join rights on ST_Intersects(lefts.geometry, rights.geometry)"""
        )
        return answers.pieces(found["parcel_id"], found["id"], found["area"])

    def nearest(self) -> Answer:
        # In metres on the plane, one more than asked for: the plane may take the last two for each other, no others.
        found = self._columns(
            f"""with

            queries as (select *, ST_Transform(geometry, '{METRES}') as metres from lefts),

            facilities as (select *, ST_Transform(geometry, '{METRES}') as metres from rights)

            select
                queries.point_id, facilities.facility_id,
                ST_X(queries.geometry) as from_x, ST_Y(queries.geometry) as from_y,
                ST_X(facilities.geometry) as to_x, ST_Y(facilities.geometry) as to_y
            from queries
            join facilities on ST_KNN(queries.metres, facilities.metres, {NEIGHBOURS + 1}, false)"""
        )
        return by_spheroid(**found)

    def _columns(self, sql: str) -> dict[str, Any]:
        table = self.context.sql(sql).to_arrow_table()
        return {name: table.column(name).to_numpy() for name in table.column_names}
