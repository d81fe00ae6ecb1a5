"""The town's plan: street blocks on a spiral, and the parcels in them.

A parcel's number decides its place. Blocks are numbered along a square spiral from the centre, so a
town that gets more parcels grows outward and nothing that was there moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely

from geostrata.demo import crs as crss
from geostrata.demo.noise import Floats, Ints, spread, uniform
from geostrata.demo.policy import POLICY

# Two rows back to back: every parcel has a street front, the one edge that no neighbour shares.
COLUMNS, ROWS = 4, 2
PER_BLOCK = COLUMNS * ROWS
WIDTH_M, DEPTH_M, STREET_M = 30.0, 40.0, 14.0
PITCH_X_M = COLUMNS * WIDTH_M + STREET_M
PITCH_Y_M = ROWS * DEPTH_M + STREET_M
# Small against the parcel and the street: edges never cross, blocks never touch.
CORNER_JITTER_M, EDGE_JITTER_M, FRONT_JITTER_M = 3.0, 1.2, 2.0


def spiral(number: Ints) -> tuple[Ints, Ints]:
    """Block coordinates of the n-th step of a square spiral around (0, 0)."""
    ring = np.ceil((np.sqrt(number + 1.0) - 1.0) / 2.0).astype(np.int64)
    side = 2 * ring
    last = (side + 1) ** 2 - 1
    back = last - number
    sides = [back <= side, back <= 2 * side, back <= 3 * side]
    x = np.select(sides, [ring - back, -ring, -ring + (back - 2 * side)], default=ring)
    y = np.select(sides, [-ring, -ring + (back - side), ring], default=ring - (back - 3 * side))
    return x, y


@dataclass(frozen=True)
class Town:
    """Where things are, in metres of UTM 33N."""

    seed: int
    parcels: int

    @cached_property
    def centre(self) -> Floats:
        degrees = np.array([[POLICY.centre_lon, POLICY.centre_lat]])
        centre: Floats = crss.convert(degrees, crss.WGS84, crss.UTM_33N)[0]
        return centre

    @cached_property
    def half_size_m(self) -> Floats:
        """Half of the town's width and height as first built."""
        rings = np.ceil((np.sqrt(np.ceil(self.parcels / PER_BLOCK)) - 1.0) / 2.0)
        return np.array([(rings + 0.5) * PITCH_X_M, (rings + 0.5) * PITCH_Y_M])

    def places(self, purpose: str, *keys: Any) -> Floats:
        """Random places in town (n, 2)."""
        offsets = [spread(self.seed, f"{purpose} {axis}", *keys) for axis in "xy"]
        return self.centre + np.column_stack(offsets) * self.half_size_m

    def parcel_polygons(self, number: Ints, shape_day: Ints, crs: str) -> Any:
        """The parcels' polygons, rounded, in a CRS; shape_day chooses a version of the front."""
        rings, present = self._rings(number, shape_day)
        coordinates = crss.convert(rings[present], crss.UTM_33N, crs)
        offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return shapely.from_ragged_array(
            shapely.GeometryType.POLYGON, coordinates, (offsets, np.arange(len(number) + 1))
        )

    def _rings(self, number: Ints, shape_day: Ints) -> tuple[Floats, Any]:
        """Closed rings of up to 13 points (n, 13, 2), and which of the points exist."""
        block, slot = np.divmod(number, PER_BLOCK)
        row, column = np.divmod(slot, COLUMNS)
        base = np.zeros_like(shape_day)
        bottom_version = np.where(row == 0, shape_day, base)
        top_version = np.where(row == 1, shape_day, base)
        # Counter-clockwise; an edge is always computed in one direction, whichever parcel asks,
        # so that neighbours get the very same numbers.
        edges = [
            (self._edge(block, column, row, 1, 0, bottom_version), False),
            (self._edge(block, column + 1, row, 0, 1, base), False),
            (self._edge(block, column, row + 1, 1, 0, top_version), True),
            (self._edge(block, column, row, 0, 1, base), True),
        ]
        points, present = [], []
        for (edge, exists), is_reversed in edges:
            order = [3, 2, 1] if is_reversed else [0, 1, 2]
            points.append(edge[:, order])
            present.append(exists[:, order])
        points.append(points[0][:, :1])
        present.append(present[0][:, :1])
        return np.concatenate(points, axis=1), np.concatenate(present, axis=1)

    def _corner(self, block: Ints, column: Ints, row: Ints) -> Floats:
        x, y = spiral(block)
        grid = np.column_stack(
            [
                (x - 0.5) * PITCH_X_M + STREET_M / 2 + column * WIDTH_M,
                (y - 0.5) * PITCH_Y_M + STREET_M / 2 + row * DEPTH_M,
            ]
        )
        jitter = [spread(self.seed, f"corner {axis}", block, column, row) for axis in "xy"]
        corner: Floats = self.centre + grid + np.column_stack(jitter) * CORNER_JITTER_M
        return corner

    def _edge(
        self, block: Ints, column: Ints, row: Ints, right: int, up: int, version: Ints
    ) -> tuple[Floats, Any]:
        """Corner, two points between, corner (n, 4, 2); the points between may not exist."""
        start = self._corner(block, column, row)
        end = self._corner(block, column + right, row + up)
        keys = (block, column, row, np.array([up]), version)
        along = end - start
        across = np.column_stack([-along[:, 1], along[:, 0]])
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        edge = np.empty((len(block), 4, 2))
        edge[:, 0], edge[:, 3] = start, end
        reach = np.where(version > 0, FRONT_JITTER_M, EDGE_JITTER_M)
        for position, third in ((1, 1 / 3), (2, 2 / 3)):
            at = third + 0.08 * spread(self.seed, "edge at", position, *keys)
            aside = reach * spread(self.seed, "edge aside", position, *keys)
            edge[:, position] = start + along * at[:, None] + across * aside[:, None]
        exists = np.ones((len(block), 4), dtype=bool)
        kept = uniform(self.seed, "edge points", *keys)
        # A changed front always has its points: the change is in them.
        exists[:, 1] = (kept < 0.6) | (version > 0)
        exists[:, 2] = (kept < 0.25) | (version > 0)
        return edge, exists
