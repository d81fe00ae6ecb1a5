"""Distances in metres between shapes of any kind, on the WGS84 spheroid.

The distance of two shapes is the length of the shortest geodesic between a point of the one and a point of the other: 0 if they
meet, and the shorter way round the earth, across the antimeridian too. Edges are straight in longitude and latitude, as they are
drawn. Of two points it is GeographicLib's answer itself, of others the search ends far below a millimetre of it.

Edges are pruned before they are measured: by balls in space that hold many of them, then by the chords under them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from geostrata.spatial.outlines import Outlines
from geostrata.spatial.spheroid import (
    GEOD,
    ROUNDING_M,
    Pieces,
    chord_nearest,
    distance_bounds,
    longest_geodesic,
    nearest_of_pieces,
    nearest_on_pieces,
    shortest_geodesic,
)

# Pieces that are measured whole: so short that a distance has no two valleys along one that differ by a hundredth of a millimetre,
# either by themselves (metres, and metres times turn squared) or because what is sought is near, compared to how they are bent.
# Longer edges are halved, where they matter.
_SHORT_M, _TURN = 2_000.0, 2e-4
_STRAIGHT_M, _BEND = 10_000.0, 0.5
# Pairs of shapes, and of their parts, at a time.
_PAIRS, _PARTS = 1 << 14, 1 << 19
_TURNS = (0.0, -360.0, 360.0)

Limits = Callable[[Any], Any]


def distance_m(a: Any, b: Any) -> Any:
    """Elementwise; not a number where a shape is missing, empty or not in degrees."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
    found = np.full(a.shape, np.nan)
    for start in range(0, a.size, _PAIRS):
        part = slice(start, start + _PAIRS)
        found.flat[part] = _distances(a.flat[part], b.flat[part])
    return found


def _distances(a: Any, b: Any) -> Any:
    ours, theirs = Outlines.of(a), Outlines.of(b)
    found = np.full(len(a), np.nan)
    pairs = np.intersect1d(ours.known, theirs.known)
    found[pairs], _ = distances_of_pairs(ours, pairs, theirs, pairs, lambda best: best)
    return found


def distances_of_pairs(a: Outlines, of_a: Any, b: Outlines, of_b: Any, limits: Limits) -> tuple[Any, Any]:
    """Metres between shapes by number, infinity where they are beyond a limit; and what they are at most.

    `limits` says, for upper bounds of all the pairs' distances, up to where each is worth knowing; beyond its own bound none is.
    """
    is_touching = touching(a.shapes[of_a], b.shapes[of_b])
    metres, at_most = np.where(is_touching, 0.0, np.inf), np.where(is_touching, 0.0, np.inf)
    rest = np.flatnonzero(~is_touching)

    def limits_of_rest(best: Any) -> Any:
        at_most[rest] = best
        return limits(at_most)[rest]

    metres[rest] = closest(a, of_a[rest], b, of_b[rest], limits_of_rest).distance_m
    return metres, at_most


def touching(a: Any, b: Any) -> Any:
    """Whether two shapes meet, elementwise, on this side of the antimeridian or after a turn."""
    found = np.zeros(len(a), dtype=bool)
    ours, theirs = shapely.bounds(a), shapely.bounds(b)
    shapely.prepare(b)
    for turn in _TURNS:
        west, east = theirs[:, 0] + turn, theirs[:, 2] + turn
        meets = (ours[:, 0] <= east) & (west <= ours[:, 2])
        meets &= (ours[:, 1] <= theirs[:, 3]) & (theirs[:, 1] <= ours[:, 3]) & ~found
        near = np.flatnonzero(meets)
        found[near] = shapely.intersects(b[near], _turned(a[near], -turn))
    return found


def _turned(shapes: Any, degrees: float) -> Any:
    return (
        shapely.transform(shapes, lambda xy: np.add(xy, (degrees, 0.0)))
        if degrees and len(shapes)
        else shapes
    )


@dataclass(frozen=True)
class Closest:
    """Of each pair: metres, or infinity beyond the limit; the edge of the second shape, and where along it."""

    distance_m: Any
    edge: Any
    fraction: Any


@dataclass(frozen=True)
class _Spans:
    """Nodes of trees; of a node that is an edge, the part from low to high."""

    node: Any
    low: Any
    high: Any

    @classmethod
    def of(cls, node: Any) -> _Spans:
        return cls(node, np.zeros(len(node)), np.ones(len(node)))

    def __getitem__(self, rows: Any) -> _Spans:
        return _Spans(self.node[rows], self.low[rows], self.high[rows])

    def pieces(self, of: Outlines) -> Pieces:
        return of.edges[self.node].between(self.low, self.high)

    def spheres(self, of: Outlines) -> tuple[Any, Any]:
        centre, radius = of.balls.centre[self.node], of.balls.radius[self.node]
        parts = np.flatnonzero(self.high - self.low < 1)
        if len(parts):
            centre[parts], radius[parts] = self[parts].pieces(of).spheres()
        return centre, radius

    def is_short(self, of: Outlines, radius: Any, limit_m: Any) -> Any:
        """Whether it can be measured whole, for distances up to a limit."""
        is_edge = of.balls.children[self.node] == 0
        edge = of.edges[np.where(is_edge, self.node, 0)]
        turn, length = np.radians(edge.lon1 - edge.lon0) * (self.high - self.low), 2 * radius
        is_small = (length <= _SHORT_M) & (length * turn**2 <= _TURN)
        is_straight = (length <= _STRAIGHT_M) & ((limit_m + length) * edge.bend() <= _BEND)
        return is_edge & (is_small | is_straight)

    def split(self, of: Outlines) -> tuple[Any, _Spans]:
        """Which of the spans, and a part of it: children of a node, halves of an edge."""
        is_edge = of.balls.children[self.node] == 0
        which, child = of.balls.split(self.node)
        halved = np.repeat(np.flatnonzero(is_edge), 2)
        middle = (self.low[halved] + self.high[halved]) / 2
        is_upper = np.arange(len(halved)) % 2 == 1
        low, high = (
            np.where(is_upper, middle, self.low[halved]),
            np.where(is_upper, self.high[halved], middle),
        )
        parts = _Spans(
            np.append(child, self.node[halved]),
            np.append(np.zeros(len(child)), low),
            np.append(np.ones(len(child)), high),
        )
        return np.append(which, halved), parts


def closest(a: Outlines, of_a: Any, b: Outlines, of_b: Any, limits: Limits) -> Closest:
    """The outlines of shapes by number, which must not cross: see distances_of_pairs."""
    best = np.full(len(of_a), np.inf)
    pair, ours, theirs = np.arange(len(of_a)), _Spans.of(a.balls.root[of_a]), _Spans.of(b.balls.root[of_b])
    ready, waiting = [(pair[:0], ours[:0], theirs[:0])], [(pair, ours, theirs)]
    while waiting:
        pair, ours, theirs = waiting.pop()
        centre, radius = ours.spheres(a)
        other, reach = theirs.spheres(b)
        apart = np.linalg.norm(centre - other, axis=1)
        # The middle of a ball is a point of the outline.
        bounds = shortest_geodesic(apart - radius - reach), longest_geodesic(apart)
        near, limit = _near(pair, *bounds, best, limits)
        pair, ours, theirs, radius, reach = pair[near], ours[near], theirs[near], radius[near], reach[near]
        near, limit = _near(pair, *_edge_bounds(a, ours, b, theirs), best, limits)
        pair, ours, theirs, radius, reach = pair[near], ours[near], theirs[near], radius[near], reach[near]
        is_short, is_short_too = ours.is_short(a, radius, limit[pair]), theirs.is_short(b, reach, limit[pair])
        is_ready = is_short & is_short_too
        ready.append((pair[is_ready], ours[is_ready], theirs[is_ready]))
        # The larger one, unless it is short already.
        cuts_a = ~is_ready & ~is_short & (is_short_too | (radius >= reach))
        cuts_b = ~is_ready & ~cuts_a
        which, parts = ours[cuts_a].split(a)
        which_too, parts_too = theirs[cuts_b].split(b)
        kept, kept_too = np.flatnonzero(cuts_a)[which], np.flatnonzero(cuts_b)[which_too]
        pair = np.append(pair[kept], pair[kept_too])
        ours, theirs = _joined(parts, ours[kept_too]), _joined(theirs[kept], parts_too)
        for start in range(0, len(pair), _PARTS):
            some = slice(start, start + _PARTS)
            waiting.append((pair[some], ours[some], theirs[some]))
    pairs, spans, spans_too = zip(*ready, strict=True)
    return _measured(a, b, best, limits, np.concatenate(pairs), _joined(*spans), _joined(*spans_too))


def _near(pair: Any, at_least: Any, at_most: Any, best: Any, limits: Limits) -> tuple[Any, Any]:
    """Which ones, by bounds on their metres, may be the nearest of their pair; and up to how many metres of each pair that is."""
    np.minimum.at(best, pair, at_most)
    limit = np.minimum(best, limits(best))
    return np.flatnonzero(at_least <= limit[pair] + ROUNDING_M), limit


def _edge_bounds(a: Outlines, ours: _Spans, b: Outlines, theirs: _Spans) -> tuple[Any, Any]:
    """What the metres between two edges are at least and at most; of other nodes nothing is said."""
    low, high = np.zeros(len(ours.node)), np.full(len(ours.node), np.inf)
    rows = np.flatnonzero((a.balls.children[ours.node] == 0) & (b.balls.children[theirs.node] == 0))
    low[rows], high[rows] = distance_bounds(ours[rows].pieces(a), theirs[rows].pieces(b))
    return low, high


def _joined(*spans: _Spans) -> _Spans:
    return _Spans(
        *(np.concatenate([getattr(one, name) for one in spans]) for name in ("node", "low", "high"))
    )


def _measured(
    a: Outlines, b: Outlines, best: Any, limits: Limits, pair: Any, ours: _Spans, theirs: _Spans
) -> Closest:
    """Short pieces: where their chords are nearest is a first guess, and what is still near enough is measured."""
    found = Closest(np.full(len(best), np.inf), np.full(len(best), -1), np.full(len(best), np.nan))
    at_least, at_most = _edge_bounds(a, ours, b, theirs)
    near, _ = _near(pair, at_least, at_most, best, limits)
    pair, ours, theirs, at_least = pair[near], ours[near], theirs[near], at_least[near]
    piece, other = ours.pieces(a), theirs.pieces(b)
    _, on_a, on_b = chord_nearest(piece, other)
    near, _ = _near(pair, at_least, GEOD.inv(*piece.at(on_a), *other.at(on_b))[2], best, limits)
    pair, theirs, piece, other = pair[near], theirs[near], piece[near], other[near]
    metres, on_b = _between(piece, other)
    order = np.lexsort((theirs.node, metres, pair))
    order = order[np.append(True, np.diff(pair[order]) > 0)] if len(order) else order
    which, span = pair[order], theirs[order]
    found.distance_m[which], found.edge[which] = metres[order], span.node
    found.fraction[which] = span.low + on_b[order] * (span.high - span.low)
    return found


def _between(a: Pieces, b: Pieces) -> tuple[Any, Any]:
    """Metres, and where along b. Each kind of pair by the cheapest search."""
    metres, on_b = np.empty(len(a)), np.zeros(len(a))
    is_point, is_point_too = _is_point(a), _is_point(b)
    rows = np.flatnonzero(is_point & is_point_too)
    metres[rows] = GEOD.inv(a.lon0[rows], a.lat0[rows], b.lon0[rows], b.lat0[rows])[2]
    rows = np.flatnonzero(is_point & ~is_point_too)
    metres[rows], on_b[rows], _ = nearest_on_pieces(a.lon0[rows], a.lat0[rows], b[rows])
    rows = np.flatnonzero(~is_point & is_point_too)
    metres[rows], _, _ = nearest_on_pieces(b.lon0[rows], b.lat0[rows], a[rows])
    rows = np.flatnonzero(~is_point & ~is_point_too)
    metres[rows], _, on_b[rows] = nearest_of_pieces(a[rows], b[rows])
    return metres, on_b


def _is_point(pieces: Pieces) -> Any:
    return (pieces.lon0 == pieces.lon1) & (pieces.lat0 == pieces.lat1)
