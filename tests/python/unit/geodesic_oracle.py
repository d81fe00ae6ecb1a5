"""Distances by brute force: edges sampled densely, then closer and closer round every valley. Slow, simple, and nothing of ours."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from pyproj import Geod

GEOD = Geod(ellps="WGS84")
_SAMPLES = 41
# Slowly, for a valley may run askew.
_CLOSER, _BY = 75, 0.75


def distance(a: Any, b: Any) -> float:
    """Metres between two shapes."""
    if any(
        a.intersects(shapely.transform(b, lambda xy, by=by: np.add(xy, (by, 0)))) for by in (0, 360, -360)
    ):
        return 0.0
    ours, theirs = edges(a), edges(b)
    valleys = [valley for one in ours for other in theirs for valley in _valleys(one, other)]
    least = min(metres for metres, *_ in valleys)
    return min(
        _refined(one, other, at, on)
        for metres, slack, one, other, at, on in valleys
        if metres - slack <= least
    )


def edges(shape: Any) -> list[Any]:
    """Pairs of ends; a point twice."""
    if hasattr(shape, "geoms"):
        return [edge for part in shape.geoms for edge in edges(part)]
    if shape.geom_type == "Polygon":
        return [edge for ring in (shape.exterior, *shape.interiors) for edge in edges(ring)]
    xy = np.asarray(shape.coords)[:, :2]
    return [(xy[0], xy[0])] if len(xy) == 1 else list(pairwise(xy))


def point_distances(a: Any, b: Any) -> Any:
    """Metres between all pairs of two lists of points."""
    at, on = np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1))
    return GEOD.inv(*at.T, *on.T)[2].reshape(len(a), len(b))


def _valleys(one: Any, other: Any) -> list[tuple[Any, ...]]:
    """Samples of two edges that are nearer than those beside them, and by how much less the distance may be between samples."""
    at, on = _fractions(one, 0, 1), _fractions(other, 0, 1)
    metres = _grid(one, other, at, on)
    beside = np.pad(metres, 1, constant_values=np.inf)
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    is_low = np.all(
        [metres <= beside[i : i + len(at), j : j + len(on)] for i, j in shifts],
        axis=0,
    )
    # Between two samples no distance changes by more than their own.
    steps = [np.diff(_places(edge, parts), axis=0) for edge, parts in ((one, at), (other, on))]
    slack = sum(float(np.abs(step).max(initial=0)) * 112_000 * 2 for step in steps)
    # Where all are equally far, as along a parallel, a few will do.
    lows = sorted(np.argwhere(is_low).tolist(), key=lambda cell: metres[cell[0], cell[1]])[:8]
    return [(metres[i, j], slack, one, other, at[i], on[j]) for i, j in lows]


def _refined(one: Any, other: Any, at: float, on: float) -> float:
    width, least = 2 / (_SAMPLES - 1), np.inf
    for _ in range(_CLOSER):
        ats, ons = (
            _fractions(edge, max(0, x - width), min(1, x + width), 9) for edge, x in ((one, at), (other, on))
        )
        metres = _grid(one, other, ats, ons)
        row, column = np.unravel_index(metres.argmin(), metres.shape)
        at, on, least = ats[row], ons[column], min(least, float(metres.min()))
        width *= _BY
    return least


def _fractions(edge: Any, low: float, high: float, count: int = _SAMPLES) -> Any:
    return np.zeros(1) if (edge[0] == edge[1]).all() else np.linspace(low, high, count)


def _places(edge: Any, fraction: Any) -> Any:
    return edge[0] + fraction[:, None] * (edge[1] - edge[0])


def _grid(one: Any, other: Any, at: Any, on: Any) -> Any:
    return point_distances(_places(one, at), _places(other, on))
