"""Geostrata: what its macros call, with what they pass, but for Jinja and dbt around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dbt.adapters.sedona import driver_tables, python_macros
from deltalake import DeltaTable

from benchmarks.spatial import answers
from benchmarks.spatial.answers import Answer
from benchmarks.spatial.cases import NEIGHBOURS
from benchmarks.spatial.data import WINDOW
from benchmarks.spatial.engines import layouts, spark
from benchmarks.spatial.engines.base import Engine

_PAIRS = {"predicate": "within", "left_columns": ["point_id"]}
# As recompute_cells has it: changes are looked up by cells of this resolution.
_TOUCHED_RESOLUTION = 7


class Geostrata(Engine):
    def prepare(self) -> None:
        self.spark = spark.session(self.scratch)
        self.exits.callback(spark.stop)
        self.spark.read.parquet(self.left).createOrReplaceTempView("lefts")
        if self.right:
            self.spark.read.parquet(self.right).createOrReplaceTempView("rights")
        name = self.case.name.replace("-", "_")
        getattr(self, f"_prepare_{name}", lambda: None)()
        self._answer: Callable[[], Any] = getattr(self, f"_{name}", getattr(self, f"_{self.case.kind}"))

    def reset(self) -> None:
        getattr(self, f"_reset_{self.case.name.replace('-', '_')}", lambda: None)()

    def run(self) -> Answer | Callable[[], Answer]:
        return self._answer()

    def _join(self) -> Answer:
        self._call(
            "plan_spatial_join",
            left="lefts",
            right="rights",
            view="found",
            right_columns=[self.case.right_key],
            **_PAIRS,
        )
        return self._counted("found")

    def _nearest(self) -> Answer:
        found = self._macro(
            "plan_nearest",
            k=NEIGHBOURS,
            max_distance_m=None,
            left_columns=["point_id"],
            right_columns=["facility_id"],
            left_geometry="geometry",
            right_geometry="geometry",
            right_key="facility_id",
        )
        return answers.neighbours(
            *spark.columns(
                self.spark.sql(f"select point_id, distance_rank - 1, facility_id, distance_m from {found}")
            )
        )

    def _overlay(self) -> Answer:
        found = self._macro("plan_overlay")
        key = self.case.right_key
        return answers.pieces(
            *spark.columns(self.spark.sql(f"select parcel_id, {key}, area_m2 from {found}"))
        )

    # The zones' tessellation and the points' cells, kept as tables.

    def _prepare_zones_stored(self) -> None:
        self._keep("points", spark.with_contract(self.spark.table("lefts")))
        began = time.monotonic()
        arguments = {"shapes": "select * from rights", "key": "zone_id", "geometry": "geometry"}
        self._call("plan_tessellation", **arguments, resolution=spark.H3_RESOLUTION, view="tessellated")
        self._keep("cells", self.spark.table("tessellated"))
        self.steps["zones-build"] = time.monotonic() - began

    def _zones_stored(self) -> Answer:
        # As docs/spatial-sql shows it.
        found = self.spark.sql(
            f"""with

            cells as (select *, st_geomfromwkb(chip) as area from {self._kept("cells")})

            select cells.zone_id, count(*), sum(points.point_id)
            from {self._kept("points")} as points
            inner join cells on points.h3 = cells.h3
            where cells.is_core or st_contains(cells.area, st_geomfromwkb(points.geometry))
            group by cells.zone_id"""
        )
        return answers.pairs(*spark.columns(found))

    # A join kept as a table, and points of which some have changed since.

    def _prepare_parcels_incremental(self) -> None:
        before = self.spark.read.parquet(str(self.data.file("points")))
        feed = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"
        self.spark.conf.set(feed, "true")
        self._keep("points", spark.with_contract(before))
        # As in silver; gold, which the join is, has none.
        self.spark.conf.unset(feed)
        layouts.zorder(self.spark, self.scratch / "points", "h3")
        self._keep("parcels", spark.with_box(self.spark.table("rights")))
        # The last one counts: the first are spent on compiling.
        for _ in range(6):
            began = time.monotonic()
            self._keep("joined", self._part_of_join("true", "true"))
            self.steps["parcels-incremental-full"] = time.monotonic() - began
        # As docs/spatial-sql/join.md has it: files with a touched cell are written anew, so small ones leave less to write.
        layouts.zorder(self.spark, self.scratch / "joined", "h3", target_file_size="1mb")
        self.versions = {name: self._version(name) for name in ("points", "joined")}
        spark.with_contract(self.spark.table("lefts")).createOrReplaceTempView("newer")
        self.spark.sql(
            f"""merge into {self._kept("points")} as points using newer on points.point_id = newer.point_id
            when matched and points.geometry != newer.geometry then update set *"""
        )
        self._newest_points = self._version("points")

    def _reset_parcels_incremental(self) -> None:
        """Every run finds the files of the whole join: it would be too easy to replace those of the run before."""
        table = DeltaTable(self.scratch / "joined")
        if table.version() > self.versions["joined"]:
            table.restore(self.versions["joined"])

    def _parcels_incremental(self) -> Callable[[], Answer]:
        conditions = self._call(
            "plan_touched_cells",
            points={
                "location": f"{self.scratch}/points",
                "first": self.versions["points"] + 1,
                "last": self._newest_points,
            },
            shapes=None,
            column="h3",
            resolution=_TOUCHED_RESOLUTION,
            stored=spark.H3_RESOLUTION,
            distance_m=0,
        )
        self._part_of_join(conditions["points"], conditions["shapes"]).createOrReplaceTempView("new_rows")
        if not driver_tables.replace_rows(self.spark, self._kept("joined"), "new_rows", conditions["points"]):
            self.spark.sql(
                f"insert into {self._kept('joined')} replace where {conditions['points']} select * from new_rows"
            )
        return lambda: self._counted(self._kept("joined"))

    def _part_of_join(self, points: str, parcels: str) -> Any:
        self._call(
            "plan_spatial_join",
            left=self._kept("points"),
            right=self._kept("parcels"),
            left_where=points,
            right_where=parcels,
            view="part",
            predicate="within",
            left_columns=["point_id", "h3"],
            right_columns=["parcel_id"],
        )
        return self.spark.table("part")

    # A window on a table that is laid out, and what it would have to read of others.

    def _prepare_window(self) -> None:
        self._keep("plain", spark.with_contract(self.spark.table("lefts")))
        plain = spark.folder_bytes(self.scratch / "plain")
        layouts.cluster(
            self.spark, self.scratch / "plain", self.scratch / "laid_out", "bbox.xmin", "bbox.ymin"
        )
        inside = self.spark.sql(self._window_sql())
        inside.coalesce(1).write.parquet(f"{self.scratch}/ideal")
        self.extras = {"plain_bytes": plain, "ideal_bytes": spark.folder_bytes(self.scratch / "ideal")}

    def _window(self) -> Callable[[], Answer]:
        frame = self.spark.sql(self._window_sql())
        # All columns are read, as they are counted in the other figures.
        found = frame.toArrow().column("point_id").to_numpy()

        def count() -> Answer:
            self.extras["bytes_of_files"] = spark.bytes_of_files(frame)
            self.extras["bytes_read"] = spark.bytes_read(
                frame, self.spark.sql(self._window_sql(spark.NOWHERE))
            )
            return answers.rows(found)

        return count

    def _window_sql(self, box: tuple[float, ...] = WINDOW) -> str:
        """As macros/join/within_window.sql writes it."""
        window = self._call("plan_window", bbox=list(box))
        west, south, east, north = window["boxes"][0]
        return f"""select * from {self._kept("laid_out")}
        where bbox.xmin <= {east} and bbox.xmax >= {west} and bbox.ymin <= {north} and bbox.ymax >= {south}
        and st_intersects(st_geomfromwkb(geometry), st_geomfromwkb(X'{window["wkb"]}'))"""

    def _macro(self, name: str, **arguments: Any) -> str:
        self._call(name, left="select * from lefts", right="select * from rights", view="found", **arguments)
        return "found"

    def _call(self, name: str, **arguments: Any) -> Any:
        return python_macros.call(self.spark, name, arguments)

    def _counted(self, joined: str) -> Answer:
        key = self.case.right_key
        counted = self.spark.sql(f"select {key}, count(*), sum(point_id) from {joined} group by {key}")
        return answers.pairs(*spark.columns(counted))

    def _keep(self, name: str, frame: Any) -> None:
        frame.write.format("delta").mode("overwrite").save(f"{self.scratch}/{name}")

    def _kept(self, name: str) -> str:
        return f"delta.`{self.scratch}/{name}`"

    def _version(self, name: str) -> int:
        history = self.spark.sql(f"describe history {self._kept(name)} limit 1")
        return int(history.first()["version"])
