"""Sedona as its manual's first example has it: an ST_ function in the join's condition, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarks.spatial import answers
from benchmarks.spatial.answers import Answer
from benchmarks.spatial.cases import NEIGHBOURS
from benchmarks.spatial.data import NORTH, SOUTH, WINDOW
from benchmarks.spatial.engines import spark
from benchmarks.spatial.engines.base import Engine


class SedonaNaive(Engine):
    def prepare(self) -> None:
        self.spark = spark.session(self.scratch)
        self.exits.callback(spark.stop)
        self.spark.read.parquet(self.left).createOrReplaceTempView("lefts")
        if self.right:
            self.spark.read.parquet(self.right).createOrReplaceTempView("rights")
        if self.case.kind == "window":
            plain = spark.with_contract(self.spark.table("lefts"))
            plain.write.format("delta").save(f"{self.scratch}/plain")

    def join(self) -> Answer:
        key = self.case.right_key
        found = self._columns(
            f"""select rights.{key}, count(*), sum(lefts.point_id)
            from lefts
            inner join rights
                on ST_Contains(ST_GeomFromWKB(rights.geometry), ST_GeomFromWKB(lefts.geometry))
            group by rights.{key}"""
        )
        return answers.pairs(*found)

    def overlay(self) -> Answer:
        key = self.case.right_key
        found = self._columns(
            f"""with

            lefts as (select parcel_id, ST_GeomFromWKB(geometry) as shape from lefts),

            rights as (select {key}, ST_GeomFromWKB(geometry) as shape from rights)

            select lefts.parcel_id, rights.{key}, ST_AreaSpheroid(ST_Intersection(lefts.shape, rights.shape))
            from lefts
            inner join rights on ST_Intersects(lefts.shape, rights.shape)"""
        )
        return answers.pieces(*found)

    def nearest(self) -> Answer:
        # ST_KNN on the sphere takes minutes. So on a plane, with twice as many candidates as it needs, and the spheroid decides.
        plane = f"st_point(st_x(place) * {math.cos(math.radians((SOUTH + NORTH) / 2))}, st_y(place))"
        found = self._columns(
            f"""with

            queries as (select point_id, st_geomfromwkb(geometry) as place from lefts),

            facilities as (select facility_id, st_geomfromwkb(geometry) as place from rights),

            left_side as (select *, {plane} as flat from queries),

            right_side as (select *, {plane} as flat from facilities),

            candidates as (

                select
                    left_side.point_id,
                    right_side.facility_id,
                    st_distancespheroid(left_side.place, right_side.place) as distance_m

                from left_side
                inner join right_side on st_knn(left_side.flat, right_side.flat, {2 * NEIGHBOURS}, false)

            ),

            ranked as (

                select
                    *,
                    row_number() over (partition by point_id order by distance_m, facility_id) - 1 as distance_rank

                from candidates

            )

            select point_id, distance_rank, facility_id, distance_m from ranked where distance_rank < {NEIGHBOURS}"""
        )
        return answers.neighbours(*found)

    def window(self) -> Callable[[], Answer]:
        """On a plain Delta table, whose files are as they came."""
        west, south, east, north = WINDOW
        frame = self.spark.sql(
            f"""select * from delta.`{self.scratch}/plain`
            where ST_Intersects(ST_GeomFromWKB(geometry), ST_PolygonFromEnvelope({west}D, {south}D, {east}D, {north}D))"""
        )
        found = frame.toArrow().column("point_id").to_numpy()

        def count() -> Answer:
            self.extras = {
                "bytes_of_files": spark.bytes_of_files(frame),
                "bytes_read": spark.bytes_read(frame, frame.limit(0)),
            }
            return answers.rows(found)

        return count

    def _columns(self, sql: str) -> list[Any]:
        return spark.columns(self.spark.sql(sql))
