"""Pairs of shapes that may be near each other: a tree of balls over one side, searched with balls of the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from geostrata.spatial.outlines import Balls, Outlines
from geostrata.spatial.spheroid import EQUATOR_M, ROUNDING_M, longest_chord, longest_geodesic

_BITS = 21


@dataclass(frozen=True)
class Candidates:
    """Of the shapes that have a place."""

    numbers: Any
    balls: Balls

    @classmethod
    def of(cls, outlines: Outlines) -> Candidates:
        numbers = outlines.known
        centre, radius = outlines.around(numbers)
        order = _along_a_curve(centre)
        return cls(numbers[order], Balls.of(centre[order], radius[order], np.zeros(len(order), np.int64), 1))

    def find(self, outlines: Outlines, numbers: Any, k: int | None, limit_m: float) -> tuple[Any, Any]:
        """Pairs of given shapes' places in `numbers` and shapes of the index: all within the limit, or, with k, all of them that
        may be among the k nearest."""
        row, node = np.arange(len(numbers)), np.full(len(numbers), self.balls.root[0])
        if not len(self.numbers):
            return row[:0], row[:0]
        centre, radius = outlines.around(numbers)
        reach = np.full(len(numbers), limit_m)
        if k is not None:
            # The middle of a ball is a point of its shape: so near are k shapes at least.
            apart, _ = self._middles.query(centre, k=[k])
            reach = np.minimum(reach, longest_geodesic(apart[:, 0]))
        reach = longest_chord(reach) + radius + ROUNDING_M
        while True:
            apart = np.linalg.norm(centre[row] - self.balls.centre[node], axis=1)
            near = apart - self.balls.radius[node] <= reach[row]
            row, node = row[near], node[near]
            is_leaf = self.balls.children[node] == 0
            if is_leaf.all():
                return row, self.numbers[node]
            which, child = self.balls.split(node)
            row, node = np.append(row[is_leaf], row[which]), np.append(node[is_leaf], child)

    @cached_property
    def _middles(self) -> cKDTree:
        return cKDTree(self.balls.centre[: len(self.numbers)])


def kth_least(group: Any, value: Any, k: int, groups: int) -> Any:
    """The k-th value of each group, from the least; infinity where there are fewer."""
    order = np.lexsort((value, group))
    ends = np.searchsorted(group[order], np.arange(groups), side="right")
    at = np.append(0, ends[:-1]) + k - 1
    found = np.full(groups, np.inf)
    found[at < ends] = value[order[at[at < ends]]]
    return found


def _along_a_curve(centre: Any) -> Any:
    """An order in which neighbours are mostly near: bits of x, y and z by turns."""
    steps = ((centre / EQUATOR_M + 1) / 2 * ((1 << _BITS) - 1)).clip(0).astype(np.uint64)
    code = np.zeros(len(centre), np.uint64)
    for axis in range(3):
        code |= _spread(steps[:, axis]) << np.uint64(axis)
    return np.argsort(code, kind="stable")


def _spread(bits: Any) -> Any:
    """Two zeros before every bit."""
    for shift, mask in (
        (32, 0x1F00000000FFFF),
        (16, 0x1F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):
        bits = (bits | (bits << np.uint64(shift))) & np.uint64(mask)
    return bits
