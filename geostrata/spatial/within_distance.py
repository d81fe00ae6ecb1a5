"""Pairs of shapes no further apart than so many metres on the spheroid."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from geostrata.spatial.candidates import Candidates
from geostrata.spatial.geodesic import distances_of_pairs
from geostrata.spatial.outlines import Outlines
from geostrata.spatial.spheroid import GEOD, ROUNDING_M, in_space, longest_chord, longest_geodesic

# Rows at a time: their candidates stay within tens of megabytes.
_POINTS, _SHAPES = 1 << 14, 1 << 12


class WithinDistanceIndex:
    """Of the right side."""

    def __init__(self, shapes: Any, distance_m: float) -> None:
        self._outlines, self._distance_m = Outlines.of(shapes), distance_m

    @classmethod
    def of(cls, shapes: Any, distance_m: float) -> WithinDistanceIndex:
        return cls(shapes, distance_m)

    def find(self, shapes: Any) -> tuple[Any, Any]:
        """Pairs of numbers, left and right, sorted. Shapes that are missing, empty or not in degrees are near nothing."""
        outlines = Outlines.of(shapes)
        by_place = self._outlines.are_points and outlines.are_points
        search, size = (self._near_points, _POINTS) if by_place else (self._near_shapes, _SHAPES)
        known = outlines.known
        parts = [(known[:0], known[:0])]
        parts += [search(outlines, known[start : start + size]) for start in range(0, len(known), size)]
        left, right = (np.concatenate(side) for side in zip(*parts, strict=True))
        order = np.lexsort((right, left))
        return left[order], right[order]

    def _near_points(self, outlines: Outlines, numbers: Any) -> tuple[Any, Any]:
        theirs, tree = self._tree
        ours = cKDTree(in_space(*outlines.places(numbers)))
        reach = longest_chord(self._distance_m) + ROUNDING_M
        found = ours.sparse_distance_matrix(tree, reach, output_type="ndarray")
        left, right = numbers[found["i"]], theirs[found["j"]]
        # By its chord a pair is mostly decided; at the rim its geodesic is asked.
        is_near = longest_geodesic(found["v"]) <= self._distance_m - ROUNDING_M
        open_pairs = np.flatnonzero(~is_near)
        places = (*outlines.places(left[open_pairs]), *self._outlines.places(right[open_pairs]))
        is_near[open_pairs] = GEOD.inv(*places)[2] <= self._distance_m
        return left[is_near], right[is_near]

    @cached_property
    def _tree(self) -> tuple[Any, Any]:
        numbers = self._outlines.known
        return numbers, cKDTree(in_space(*self._outlines.places(numbers)))

    def _near_shapes(self, outlines: Outlines, numbers: Any) -> tuple[Any, Any]:
        row, right = self._candidates.find(outlines, numbers, None, self._distance_m)
        sure = self._distance_m - ROUNDING_M

        def limits(best: Any) -> Any:
            """A pair that is near enough needs no more measuring."""
            return np.where(best <= sure, -np.inf, self._distance_m)

        metres, at_most = distances_of_pairs(outlines, numbers[row], self._outlines, right, limits)
        is_near = (metres <= self._distance_m) | (at_most <= sure)
        return numbers[row[is_near]], right[is_near]

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates.of(self._outlines)
