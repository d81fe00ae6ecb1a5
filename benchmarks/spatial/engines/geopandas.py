"""GeoPandas: everything in memory, indexed by GEOS's tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.spatial import answers
from benchmarks.spatial.answers import Answer
from benchmarks.spatial.cases import EQUAL_AREA, METRES, NEIGHBOURS
from benchmarks.spatial.engines.base import Engine, UnavailableError, by_spheroid

_FIRST_REACH_M = 1_500


class GeoPandas(Engine):
    def prepare(self) -> None:
        try:
            import geopandas
        except ImportError as error:
            raise UnavailableError(f"the package {error.name} is not installed") from None
        self.read = geopandas.read_parquet

    def join(self) -> Answer:
        key = self.case.right_key
        points, shapes = self.read(self.left), self.read(self.right)
        # From the shapes: each is prepared once, and the points are in the tree.
        found = shapes.sjoin(points, predicate="contains").groupby(key)["point_id"].agg(["count", "sum"])
        return answers.pairs(found.index, found["count"], found["sum"])

    def overlay(self) -> Answer:
        parcels, shapes = self.read(self.left), self.read(self.right)
        left, right = parcels.sindex.query(shapes.geometry, predicate="intersects")[::-1]
        pieces = parcels.geometry.iloc[left].intersection(shapes.geometry.iloc[right], align=False)
        area_m2 = pieces.to_crs(EQUAL_AREA).area
        return answers.pieces(
            parcels["parcel_id"].iloc[left], shapes[self.case.right_key].iloc[right], area_m2
        )

    def nearest(self) -> Answer:
        """Its own nearest join knows one neighbour: all within a reach, and a longer one for those with too few."""
        queries, facilities = self.read(self.left), self.read(self.right)
        metres, targets = queries.geometry.to_crs(METRES).array, facilities.geometry.to_crs(METRES)
        waiting, reach = np.arange(len(queries)), _FIRST_REACH_M
        found: list[Any] = []
        while len(waiting):
            near, facility = targets.sindex.query(metres[waiting], predicate="dwithin", distance=reach)
            counts = np.bincount(near, minlength=len(waiting))
            # One more than asked for, because the plane may take the last two for each other.
            is_done = counts > NEIGHBOURS
            done = is_done[near]
            pairs = pd.DataFrame({"left": waiting[near[done]], "right": facility[done]})
            pairs["metres"] = metres[pairs["left"]].distance(targets.array[pairs["right"]])
            found.append(pairs.sort_values("metres").groupby("left").head(NEIGHBOURS + 1))
            waiting, reach = waiting[~is_done], reach * 2
        pairs = pd.concat(found)
        left, right = queries.iloc[pairs["left"]], facilities.iloc[pairs["right"]]
        return by_spheroid(
            left["point_id"].to_numpy(),
            right["facility_id"].to_numpy(),
            left.geometry.x.to_numpy(),
            left.geometry.y.to_numpy(),
            right.geometry.x.to_numpy(),
            right.geometry.y.to_numpy(),
        )
