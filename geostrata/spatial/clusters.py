"""DBSCAN in metres on the spheroid: points with enough neighbours within a radius are cores, cores within the radius of each other are one
cluster, others belong to the cluster of a core within the radius or to none.

Exact: a straight line through the earth is never longer than the way on it, and shorter by a bound that is known. Only pairs between the two bounds
are measured as geodesics. Points are gathered in cubes so small that all points of one are neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyproj

from geostrata.geometry.arrays import Flags, Floats, Ints

SMALLEST_RADIUS_M, LARGEST_RADIUS_M = 0.1, 100_000.0

_GEOD = pyproj.Geod(ellps="WGS84")
# No curve on the spheroid bends more than a circle of this radius.
_LEAST_RADIUS_M = 6_335_000.0
# Far more than the rounding of places in metres.
_ROUNDING_M = 1e-6
# Pairs looked at in one go.
_PAIRS = 1 << 21


@dataclass(frozen=True)
class Found:
    """`core` of each point: the first core, by number, of its part of a cluster; -1 for noise."""

    is_core: Flags
    core: Ints


def dbscan(lon: Any, lat: Any, radius_m: float, min_points: int) -> Found:
    """Numbers of points are their ranks: first is smallest. A place that is not a number is noise. A point is its own neighbour."""
    known = np.flatnonzero(~(np.isnan(lon) | np.isnan(lat)))
    places = _Places.of(np.asarray(lon)[known], np.asarray(lat)[known], radius_m)
    is_core = places.is_core(min_points)
    component = places.components(is_core)
    first = np.full(len(known), len(known))
    np.minimum.at(first, component[is_core], np.flatnonzero(is_core))
    reached = places.first_core(is_core)
    core = np.where(is_core, first[component], -1)
    has_core = reached >= 0
    core[has_core] = first[component[reached[has_core]]]
    found = Found(np.zeros(len(lon), dtype=bool), np.full(len(lon), -1))
    found.is_core[known] = is_core
    found.core[known] = np.where(core >= 0, known[core], -1) if len(known) else core
    return found


def connected(one: Ints, other: Ints, count: int) -> Ints:
    """The smallest number that each of `count` things is connected with by these pairs."""
    root = np.arange(count)
    while len(one):
        low, high = np.minimum(root[one], root[other]), np.maximum(root[one], root[other])
        apart = low != high
        one, other, low, high = one[apart], other[apart], low[apart], high[apart]
        np.minimum.at(root, high, low)
        while (root[root] != root).any():
            root = root[root]
    return root


def merged(one: pa.Array, other: pa.Array) -> pa.Table:
    """Of labels that are connected in pairs, those that are not the smallest of theirs: `label` and that smallest, `cluster`."""
    labels = pc.unique(pa.concat_arrays([one, other]))
    labels = labels.take(pc.sort_indices(labels))
    numbers = np.stack([pc.index_in(side, labels).to_numpy(zero_copy_only=False) for side in (one, other)])
    root = connected(numbers[0].astype(np.int64), numbers[1].astype(np.int64), len(labels))
    moved = np.flatnonzero(root != np.arange(len(labels)))
    return pa.table({"label": labels.take(pa.array(moved)), "cluster": labels.take(pa.array(root[moved]))})


@dataclass(frozen=True)
class _Places:
    """Points in the order of their cubes. `order`: the number of each; `start`: the first of each cube, and the end of the last."""

    radius_m: float
    lon: Floats
    lat: Floats
    xyz: Floats
    order: Ints
    start: Ints
    # The pairs of cubes that hold points which may be neighbours, each once, none with itself.
    cubes: tuple[Ints, Ints]

    @classmethod
    def of(cls, lon: Floats, lat: Floats, radius_m: float) -> _Places:
        xyz = _on_spheroid(lon, lat)
        # The diagonal is a little less than the radius.
        cube = np.floor(xyz / (radius_m * 0.999 / np.sqrt(3))).astype(np.int64)
        cube -= cube.min(axis=0, initial=np.iinfo(np.int64).max) - 2 if len(cube) else 0
        order = np.lexsort((cube[:, 2], cube[:, 1], cube[:, 0]))
        cube = cube[order]
        is_first = np.ones(len(cube), dtype=bool)
        is_first[1:] = (cube[1:] != cube[:-1]).any(axis=1)
        start = np.append(np.flatnonzero(is_first), len(cube))
        return cls(radius_m, lon[order], lat[order], xyz[order], order, start, _neighbours(cube[is_first]))

    @property
    def counts(self) -> Ints:
        return np.diff(self.start)

    def is_core(self, min_points: int) -> Flags:
        """In the order of the points' numbers, as all answers."""
        counts = self.counts
        near = np.repeat(counts, counts)
        # A full cube needs no counting.
        open_cube = counts < min_points
        for at, to in self._both_ways(open_cube, np.ones(len(counts), dtype=bool)):
            for point, other in self._pairs(at, to, None, None):
                near += np.bincount(point[self._is_near(point, other)], minlength=len(near))
        return self._by_number(near >= min_points)

    def components(self, is_core: Flags) -> Ints:
        """The number of its component for each core: cores of one cube are together."""
        core = is_core[self.order]
        cubes = len(self.counts)
        has_core = np.bincount(self._cube_of()[core], minlength=cubes) > 0
        one, other = self.cubes
        both = has_core[one] & has_core[other]
        one, other = one[both], other[both]
        root = np.arange(cubes)
        # First the first cores of both, which connects most: what is connected needs no more looking.
        first = np.full(cubes, -1)
        numbers = np.flatnonzero(core)[::-1]
        first[self._cube_of()[numbers]] = numbers
        near = self._is_near(first[one], first[other])
        root = connected(one[near], other[near], cubes)
        for at, to in _chunks(one, other, self.counts):
            apart = root[at] != root[to]
            at, to = at[apart], to[apart]
            for point, partner in self._pairs(at, to, core, core):
                near = self._is_near(point, partner)
                cube = self._cube_of()
                pair = np.unique(np.column_stack([cube[point[near]], cube[partner[near]]]), axis=0)
                root = connected(
                    np.concatenate([np.arange(cubes), pair[:, 0]]), np.concatenate([root, pair[:, 1]]), cubes
                )
        return self._by_number(root[self._cube_of()])

    def first_core(self, is_core: Flags) -> Ints:
        """Of each point that is none itself, the core of the smallest number in reach; -1 if there is none."""
        core = is_core[self.order]
        none = len(core)
        found = np.full(none, none)
        cube = self._cube_of()
        least = np.full(len(self.counts), none)
        np.minimum.at(least, cube[core], self.order[core])
        found[~core] = least[cube[~core]]
        has_other = np.bincount(cube[~core], minlength=len(self.counts)) > 0
        for at, to in self._both_ways(has_other, least < none):
            for point, other in self._pairs(at, to, ~core, core):
                near = self._is_near(point, other)
                np.minimum.at(found, point[near], self.order[other[near]])
        return self._by_number(np.where(core | (found == none), -1, found))

    def _cube_of(self) -> Ints:
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def _by_number(self, values: Any) -> Any:
        found = np.empty_like(values)
        found[self.order] = values
        return found

    def _both_ways(self, is_from: Flags, is_to: Flags) -> Iterator[tuple[Ints, Ints]]:
        for one, other in (self.cubes, self.cubes[::-1]):
            kept = is_from[one] & is_to[other]
            yield from _chunks(one[kept], other[kept], self.counts)

    def _pairs(
        self, at: Ints, to: Ints, of_at: Flags | None, of_to: Flags | None
    ) -> Iterator[tuple[Ints, Ints]]:
        """All pairs of a point in one cube and a point in the other; only of chosen points, if such are given."""
        points, numbers = _expanded(at, self.start, of_at)
        to = to[numbers]
        # A pair of crowded cubes may be too much for one go, too.
        for chunk in _slices(self.counts[to]):
            partner, at_point = _expanded(to[chunk], self.start, of_to)
            yield points[chunk][at_point], partner

    def _is_near(self, one: Ints, other: Ints) -> Flags:
        apart = self.xyz[one] - self.xyz[other]
        chord = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        longest = 2 * _LEAST_RADIUS_M * np.arcsin(np.minimum(chord / (2 * _LEAST_RADIUS_M), 1))
        near: Flags = longest <= self.radius_m - _ROUNDING_M
        unsure = np.flatnonzero(~near & (chord <= self.radius_m + _ROUNDING_M))
        if len(unsure):
            # From the smaller number to the larger: the same answer both ways, to the last bit.
            pair = np.column_stack([one[unsure], other[unsure]])
            is_turned = self.order[pair[:, 0]] > self.order[pair[:, 1]]
            pair[is_turned] = pair[is_turned, ::-1]
            start, end = pair.T
            metres = _GEOD.inv(self.lon[start], self.lat[start], self.lon[end], self.lat[end])[2]
            near[unsure] = metres <= self.radius_m
        return near


def _on_spheroid(lon: Floats, lat: Floats) -> Floats:
    """Metres from the middle of the earth, along three axes."""
    lam, phi = np.radians(lon), np.radians(lat)
    normal = _GEOD.a / np.sqrt(1 - _GEOD.es * np.sin(phi) ** 2)
    across = normal * np.cos(phi)
    return np.column_stack(
        [across * np.cos(lam), across * np.sin(lam), normal * (1 - _GEOD.es) * np.sin(phi)]
    )


def _neighbours(cube: Ints) -> tuple[Ints, Ints]:
    """Pairs of cubes no more than two steps apart on any axis. `cube` is sorted, each once, and its numbers leave room below."""
    found: list[tuple[Ints, Ints]] = []
    # Two axes in one number, and then what they are called and the third: the three would not fit together.
    column = (cube[:, 0] << 31) | cube[:, 1]
    columns, rank = np.unique(column, return_inverse=True)
    key = (rank << 31) | cube[:, 2]
    for across in range(3):
        for along in range(-2 if across else 0, 3):
            other = _position(columns, columns + (across << 31) + along)[rank]
            known = np.flatnonzero(other >= 0)
            for up in range(-2 if (across, along) != (0, 0) else 1, 3):
                at = _position(key, (other[known] << 31) + cube[known, 2] + up)
                found.append((known[at >= 0], at[at >= 0]))
    one, other = (np.concatenate(side) for side in zip(*found, strict=True))
    order = np.lexsort((other, one))
    return one[order], other[order]


def _position(keys: Ints, wanted: Ints) -> Ints:
    """Where it stands among sorted keys; -1 for what isn't there."""
    at = np.searchsorted(keys, wanted)
    is_there = at < len(keys)
    is_there[is_there] = keys[at[is_there]] == wanted[is_there]
    found: Ints = np.where(is_there, at, -1)
    return found


def _expanded(cubes: Ints, start: Ints, chosen: Flags | None) -> tuple[Ints, Ints]:
    """The points of the cubes, and for each the place of its cube in the list."""
    counts = start[cubes + 1] - start[cubes]
    numbers = np.repeat(np.arange(len(cubes)), counts)
    points = np.repeat(start[cubes] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    if chosen is None:
        return points, numbers
    kept = chosen[points]
    return points[kept], numbers[kept]


def _chunks(one: Ints, other: Ints, counts: Ints) -> Iterator[tuple[Ints, Ints]]:
    for chunk in _slices(counts[one] * counts[other]):
        yield one[chunk], other[chunk]


def _slices(weights: Ints) -> Iterator[slice]:
    """Slices of about as much weight as one go takes."""
    total = np.cumsum(weights)
    start = 0
    while start < len(weights):
        before = total[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(total, before + _PAIRS, "right")))
        yield slice(start, end)
        start = end
