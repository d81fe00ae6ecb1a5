"""The WGS84 spheroid: points in space, bounds on geodesics by straight chords, and the nearest points of short pieces of edges.

A chord says much about the geodesic between its ends, and costs a hundredth of it. With the reduced latitude the spheroid is a
sphere that was pressed flat: lengths on it lie between b and a times the angle. And a geodesic is bent at least as much as a
meridian at a pole (radius p) and at most as much as one at the equator (radius q): of two arcs of one length the one that is
bent more has the shorter chord. Hence, for a chord c,

    max(2 b asin(c / 2 a), 2 p asin(c / 2 p))  <=  geodesic  <=  min(2 a asin(c / 2 b), 2 q asin(c / 2 q))

An edge is straight in longitude and latitude, so on the ground it is a curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyproj import Geod

GEOD = Geod(ellps="WGS84")
EQUATOR_M, POLE_M = GEOD.a, GEOD.b
# Radii of curvature, the largest and the smallest: a meridian's at a pole and at the equator.
FLATTEST_M, _ROUNDEST_M = EQUATOR_M**2 / POLE_M, POLE_M**2 / EQUATOR_M
# The comparison of arcs is for plane ones; geodesics leave their plane by next to nothing, for which this makes room.
_FLATTER_M = 1.0005 * FLATTEST_M
# What rounding may do to a chord, and far more.
ROUNDING_M = 1e-6
# Between pieces that are farther apart than the first and nearer than the second, geodesics and arcs on such a sphere differ by
# amounts that change by less than a two hundredth of a move, times the distance in radii squared. A third of that is the most that was seen.
_FAR_M, _FARTHEST_M, _SPHERE_M, _UNLIKE = 50e3, 13e6, 6367e3, 0.005
# How near a nearest point is looked for along its edge. Geodesics are good to 15 nanometres.
_STEP_M = 1e-8
_MOST_STEPS = 60


def in_space(lon: Any, lat: Any) -> Any:
    """Points on the spheroid, in metres from the centre of the earth."""
    lon, lat = np.radians(lon), np.radians(lat)
    normal = EQUATOR_M / np.sqrt(1 - GEOD.es * np.sin(lat) ** 2)
    flat = normal * np.cos(lat)
    return np.column_stack([flat * np.cos(lon), flat * np.sin(lon), normal * (1 - GEOD.es) * np.sin(lat)])


def longest_chord(metres: Any) -> Any:
    """Of points that are so far apart at most."""
    return np.minimum(_chord(metres, POLE_M, EQUATOR_M), _chord(metres, _FLATTER_M, _FLATTER_M))


def _chord(metres: Any, arc_radius: float, chord_radius: float) -> Any:
    half_angle = np.clip(np.divide(metres, 2 * arc_radius), -np.pi / 2, np.pi / 2)
    return 2 * chord_radius * np.sin(half_angle)


def shortest_geodesic(chord: Any) -> Any:
    """Of points with such a chord at least."""
    return np.maximum(_arc(chord, POLE_M, EQUATOR_M), _arc(chord, _FLATTER_M, _FLATTER_M))


def longest_geodesic(chord: Any) -> Any:
    """Of points with such a chord at most."""
    on_sphere = _arc(chord, EQUATOR_M, POLE_M)
    # The circle's bound is for less than half of it.
    is_less = np.less(chord, 1.9 * _ROUNDEST_M)
    return np.where(is_less, np.minimum(on_sphere, _arc(chord, _ROUNDEST_M, _ROUNDEST_M)), on_sphere)


def _arc(chord: Any, arc_radius: float, chord_radius: float) -> Any:
    return 2 * arc_radius * np.arcsin(np.clip(np.divide(chord, 2 * chord_radius), -1.0, 1.0))


@dataclass(frozen=True)
class Pieces:
    """Of edges, from (lon0, lat0) to (lon1, lat1) in degrees. A point is a piece of no length."""

    lon0: Any
    lat0: Any
    lon1: Any
    lat1: Any

    def __len__(self) -> int:
        return len(self.lon0)

    def __getitem__(self, rows: Any) -> Pieces:
        return Pieces(self.lon0[rows], self.lat0[rows], self.lon1[rows], self.lat1[rows])

    def at(self, fraction: Any) -> tuple[Any, Any]:
        """Exact at both ends."""
        rest = 1 - fraction
        return rest * self.lon0 + fraction * self.lon1, rest * self.lat0 + fraction * self.lat1

    def between(self, low: Any, high: Any) -> Pieces:
        return Pieces(*self.at(low), *self.at(high))

    def spheres(self) -> tuple[Any, Any]:
        """Balls that hold the pieces: round the middle, as far as half of the way along can be."""
        return in_space(*self.at(0.5)), FLATTEST_M * np.hypot(*self._widths()) / 2

    def sag(self) -> Any:
        """How far a piece may lie from its chord: an eighth of the second derivative, with room for what the spheroid adds to the
        sphere, and for the rounding of nearly parallel chords."""
        east, north = np.radians(self.lon1 - self.lon0), np.radians(self.lat1 - self.lat0)
        wide, high = self._widths()
        bend = north**2 + 2 * np.abs(north * east) + np.abs(wide * east)
        return FLATTEST_M * (1.02 * bend / 8 + 1e-7 * np.hypot(wide, high))

    def bend(self) -> Any:
        """How much a piece is bent on the ground at the most, as the inverse of a radius in metres."""
        steepest = np.maximum(np.abs(self.lat0), np.abs(self.lat1))
        return 2 * np.tan(np.radians(steepest)) / POLE_M

    def _widths(self) -> tuple[Any, Any]:
        """East and north at the most, in radians of the largest circle."""
        south, north = np.minimum(self.lat0, self.lat1), np.maximum(self.lat0, self.lat1)
        widest = np.cos(np.radians(np.maximum(np.maximum(south, -north), 0)))
        return widest * np.radians(self.lon1 - self.lon0), np.radians(self.lat1 - self.lat0)


def chord_nearest(a: Pieces, b: Pieces) -> tuple[Any, Any, Any]:
    """Of the straight chords in space under two pieces: their distance, and where along each they are nearest."""
    start, other = in_space(a.lon0, a.lat0), in_space(b.lon0, b.lat0)
    along_a, along_b = in_space(a.lon1, a.lat1) - start, in_space(b.lon1, b.lat1) - other
    gap = start - other
    aa, bb, ab = _dot(along_a, along_a), _dot(along_b, along_b), _dot(along_a, along_b)
    ag, bg = _dot(along_a, gap), _dot(along_b, gap)
    # Of parallel chords any point will do to begin with; one of no length has no say.
    with np.errstate(invalid="ignore", divide="ignore"):
        on_a = _clip((ab * bg - ag * bb) / (aa * bb - ab * ab))
        on_b = _clip((ab * on_a + bg) / bb)
        on_a = _clip((ab * on_b - ag) / aa)
    return (
        np.sqrt(np.sum((gap + along_a * on_a[:, None] - along_b * on_b[:, None]) ** 2, axis=1)),
        on_a,
        on_b,
    )


def distance_bounds(a: Pieces, b: Pieces) -> tuple[Any, Any]:
    """Metres between two pieces, at least and at most, from the chords under them.

    Of those far apart the geodesic itself is asked where the chords are nearest: what it differs by from an arc over its chord,
    on a sphere, is nearly the same all over two pieces.
    """
    chord, on_a, on_b = chord_nearest(a, b)
    sag = a.sag() + b.sag()
    low, high = shortest_geodesic(chord - sag), longest_geodesic(chord + sag)
    far = np.flatnonzero(chord > _FAR_M)
    a, b = a[far], b[far]
    here, there = a.at(on_a[far]), b.at(on_b[far])
    high[far] = GEOD.inv(*here, *there)[2]
    lengths = _length(a) + _length(b)
    apart = np.linalg.norm(in_space(*here) - in_space(*there), axis=1)
    less = _arc(apart, _SPHERE_M, _SPHERE_M) - _arc((chord - sag)[far], _SPHERE_M, _SPHERE_M)
    less += _UNLIKE * lengths * (high[far] / _SPHERE_M) ** 2
    # On the far side of the earth nothing is smooth; but no distance changes by more than its ends move.
    less = np.where(high[far] < _FARTHEST_M, np.minimum(less, lengths), lengths)
    low[far] = np.maximum(low[far], high[far] - less)
    return low, high


def nearest_on_pieces(lon: Any, lat: Any, pieces: Pieces) -> tuple[Any, Any, Any]:
    """Metres from each point to its piece, where along the piece, and the azimuth at the point towards it."""
    east, north = np.radians(pieces.lon1 - pieces.lon0), np.radians(pieces.lat1 - pieces.lat0)

    def look(rows: Any, fraction: Any) -> tuple[Any, Any, Any]:
        there = pieces[rows].at(fraction)
        outward, back, metres = GEOD.inv(lon[rows], lat[rows], *there)
        return metres, metres * _growth(east[rows], north[rows], there[1], back), outward

    return _least(look, _length(pieces))


def nearest_of_pieces(a: Pieces, b: Pieces) -> tuple[Any, Any, Any]:
    """Metres between two pieces, and where along each. They must not cross.

    How far a point of `a` is from its nearest one on `b` grows, as the point moves, by the angle of that geodesic alone: its
    other end lies where a move to either side changes nothing, or at an end. So one search lies inside the other.
    """
    east, north = np.radians(a.lon1 - a.lon0), np.radians(a.lat1 - a.lat0)

    def look(rows: Any, fraction: Any) -> tuple[Any, Any, Any]:
        lon, lat = a[rows].at(fraction)
        metres, on_b, outward = nearest_on_pieces(lon, lat, b[rows])
        return metres, metres * _growth(east[rows], north[rows], lat, outward), on_b

    return _least(look, _length(a))


def _least(look: Callable[[Any, Any], tuple[Any, Any, Any]], length_m: Any) -> tuple[Any, Any, Any]:
    """The least distance along each piece, where it is, and what `look` noted there.

    `look` gives the distance, half the growth of its square, and the note. On a short piece that growth is nearly a straight
    line, and where it passes from minus to plus the distance is least: false position, the Illinois way.
    """
    rows = np.arange(len(length_m))
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    least, low_growth, note = look(rows, low)
    metres, high_growth, other = look(rows, high)
    where = (metres < least).astype(float)
    least, note = np.minimum(least, metres), np.where(where > 0, other, note)
    is_between = (low_growth < 0) & (high_growth > 0)
    rows, low, high = rows[is_between], low[is_between], high[is_between]
    low_growth, high_growth = low_growth[is_between], high_growth[is_between]
    side = np.zeros(len(rows))
    last = np.full(len(rows), np.inf)
    for _ in range(_MOST_STEPS):
        if not len(rows):
            break
        at = np.clip((low * high_growth - high * low_growth) / (high_growth - low_growth), low, high)
        metres, growth, other = look(rows, at)
        better = metres < least[rows]
        least[rows[better]], where[rows[better]] = metres[better], at[better]
        note[rows[better]] = other[better]
        new_side = np.sign(growth)
        # The end that stays a second time counts half, or it would stay for ever.
        high_growth[(new_side < 0) & (side < 0)] /= 2
        low_growth[(new_side > 0) & (side > 0)] /= 2
        is_low = new_side < 0
        low, low_growth = np.where(is_low, at, low), np.where(is_low, growth, low_growth)
        high, high_growth = np.where(is_low, high, at), np.where(is_low, high_growth, growth)
        step = np.abs(at - last) * length_m[rows]
        width = (high - low) * length_m[rows]
        on = (new_side != 0) & (step > _STEP_M) & (width > _STEP_M)
        rows, low, high, low_growth, high_growth = (
            rows[on],
            low[on],
            high[on],
            low_growth[on],
            high_growth[on],
        )
        side, last = new_side[on], at[on]
    return least, where, note


def _growth(east: Any, north: Any, lat: Any, azimuth: Any) -> Any:
    """Metres by which a geodesic grows when its end, where it leaves by this azimuth, moves so far in radians of longitude and latitude."""
    lat, azimuth = np.radians(lat), np.radians(azimuth)
    squared = 1 - GEOD.es * np.sin(lat) ** 2
    across = EQUATOR_M / np.sqrt(squared) * np.cos(lat) * east
    along = EQUATOR_M * (1 - GEOD.es) / squared**1.5 * north
    return -(across * np.sin(azimuth) + along * np.cos(azimuth))


def _length(pieces: Pieces) -> Any:
    return 2 * pieces.spheres()[1]


def _dot(a: Any, b: Any) -> Any:
    return np.einsum("ij,ij->i", a, b)


def _clip(fraction: Any) -> Any:
    return np.clip(np.nan_to_num(fraction, nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1.0)
