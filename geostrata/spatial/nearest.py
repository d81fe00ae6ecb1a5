"""The k nearest shapes, in metres on the spheroid.

Every way prunes by bounds and asks geodesics for the rest, so that the answer is that of all pairs measured: of points a tree of
their places in space (no chord is longer than its geodesic), of other shapes balls that hold them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from geostrata.spatial.candidates import Candidates, kth_least
from geostrata.spatial.geodesic import distances_of_pairs
from geostrata.spatial.outlines import Outlines
from geostrata.spatial.spheroid import GEOD, ROUNDING_M, in_space, longest_chord

# Pairs wanted at a time: their candidates stay within tens of megabytes.
_POINTS, _SHAPES = 1 << 18, 1 << 13


@dataclass(frozen=True)
class Nearest:
    """Pairs of a left number and a right one with their metres, by left number and rank (from 1)."""

    left: Any
    right: Any
    distance_m: Any
    rank: Any


class NearestIndex:
    """Of the right side."""

    def __init__(self, shapes: Any, ids: Any) -> None:
        """Of shapes at the same distance the one with the lower id comes first."""
        self._outlines = Outlines.of(shapes)
        self._precedence = np.empty(len(ids), np.int64)
        self._precedence[np.argsort(ids, kind="stable")] = np.arange(len(ids))

    @classmethod
    def of(cls, shapes: Any, ids: Any) -> NearestIndex:
        return cls(shapes, np.asarray(ids))

    def find(self, shapes: Any, k: int, max_distance_m: float | None = None) -> Nearest:
        """Shapes that are missing, empty or not in degrees are near nothing."""
        limit_m = np.inf if max_distance_m is None else max_distance_m
        outlines = Outlines.of(shapes)
        by_place = self._outlines.are_points and outlines.are_points
        search, size = (self._near_points, _POINTS) if by_place else (self._near_shapes, _SHAPES)
        known, k = outlines.known, min(k, len(self._outlines.known))
        size = max(1, size // max(1, k))
        starts = range(0, len(known), size) if k else ()
        parts = [(known[:0], known[:0], np.empty(0))]
        parts += [search(outlines, known[start : start + size], k, limit_m) for start in starts]
        left, right, metres = (np.concatenate(column) for column in zip(*parts, strict=True))
        return self._ranked(left, right, metres, k, limit_m)

    def _ranked(self, left: Any, right: Any, metres: Any, k: int, limit_m: float) -> Nearest:
        order = np.lexsort((self._precedence[right], metres, left))
        order = order[metres[order] <= limit_m]
        left = left[order]
        rank = np.arange(len(left)) - np.searchsorted(left, left) + 1
        is_near = rank <= k
        order = order[is_near]
        return Nearest(left[is_near], right[order], metres[order], rank[is_near])

    def _near_shapes(self, outlines: Outlines, numbers: Any, k: int, limit_m: float) -> tuple[Any, Any, Any]:
        row, right = self._candidates.find(outlines, numbers, k, limit_m)

        def limits(best: Any) -> Any:
            return np.minimum(kth_least(row, best, k, len(numbers))[row], limit_m)

        metres, _ = distances_of_pairs(outlines, numbers[row], self._outlines, right, limits)
        is_known = np.isfinite(metres)
        return numbers[row[is_known]], right[is_known], metres[is_known]

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates.of(self._outlines)

    @cached_property
    def _tree(self) -> tuple[Any, Any]:
        numbers = self._outlines.known
        return numbers, cKDTree(in_space(*self._outlines.places(numbers)))

    def _near_points(self, outlines: Outlines, numbers: Any, k: int, limit_m: float) -> tuple[Any, Any, Any]:
        """One more than k, by chord: where that one's chord is beyond the k-th geodesic, no other can come in. Else more are asked for."""
        theirs, tree = self._tree
        lon, lat = outlines.places(numbers)
        place = in_space(lon, lat)
        farthest = longest_chord(limit_m) + ROUNDING_M
        row, wanted = np.arange(len(numbers)), k + 1
        found = [(numbers[:0], numbers[:0], np.empty(0))]
        while len(row):
            chord, near = tree.query(place[row], k=np.arange(1, wanted + 1), distance_upper_bound=farthest)
            at, column = np.nonzero(np.isfinite(chord[:, :-1]))
            right = theirs[near[at, column]]
            metres = np.full((len(row), wanted), np.inf)
            metres[at, column] = GEOD.inv(lon[row[at]], lat[row[at]], *self._outlines.places(right))[2]
            is_done = chord[:, -1] > np.partition(metres, k - 1, axis=1)[:, k - 1] + ROUNDING_M
            is_done |= np.isinf(chord[:, -1])
            kept = is_done[at]
            found.append((numbers[row[at[kept]]], right[kept], metres[at[kept], column[kept]]))
            row, wanted = row[~is_done], min(2 * wanted, len(theirs) + 1)
        left, right, metres = (np.concatenate(part) for part in zip(*found, strict=True))
        return left, right, metres
