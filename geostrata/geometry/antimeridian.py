"""Shapes that cross the antimeridian, cut there: their vertices alone would make a band around the world.

Which way an edge goes is asked in the CRS that it landed in, where it is straight: of points along it. Longitudes are then counted on
beyond 180 degrees, and what lies there is put back on the other side of the map. A ring that comes back a whole turn later goes around a
pole. In a geographic CRS an edge of more than half a turn may mean either way around: that is nothing to guess.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from geostrata.geometry.arrays import Flags, Floats, Ints
from geostrata.geometry.coordinate_systems import CoordinateSystem

# Degrees of longitude. An edge that spans more is looked at between its ends; in a shape that is cut it gets vertices there, where it is
# bent on the map.
_LONG = 10.0
# Degrees: less than a millimetre.
_SAME = 1e-9
# Halvings of an edge that comes near a pole.
_HALVINGS = 24


class _UnsureError(Exception):
    """Nobody can tell on which side of the earth a shape lies."""


def suspects(lon_lat: Floats, rows: Ints, is_projected: Flags) -> Ints:
    """Rows that have an edge long enough to be looked at or, of those from a projected CRS, a vertex on a pole. Few are."""
    longest = np.where(is_projected, _LONG, 180.0)
    is_long = (rows[1:] == rows[:-1]) & (np.abs(np.diff(lon_lat[:, 0])) > longest[rows[1:]])
    is_pole = (np.abs(lon_lat[:, 1]) > 90 - _SAME) & is_projected[rows]
    return np.unique(np.append(rows[1:][is_long], rows[is_pole]))


def cut(shape: Any, system: CoordinateSystem, is_swapped: bool) -> tuple[Any, bool]:
    """A valid shape of this CRS in EPSG:4326, or None where its vertices say it all; and whether that is sure."""
    if is_swapped:
        shape = shapely.transform(shape, lambda xy: xy[:, ::-1])
    try:
        return _Cutter(system).shape(shape), True
    except _UnsureError:
        return None, False


class _Cutter:
    def __init__(self, system: CoordinateSystem) -> None:
        self._system = system
        poles = np.array([[0.0, -90.0], [0.0, 90.0]])
        if system.transformer is not None:
            poles = np.column_stack(system.transformer.transform(*poles.T, direction="INVERSE"))
        self._poles = poles
        self._is_changed = False
        # Longitudes by place: there and back again, a turn costs the last digit, by which neighbours would no longer touch.
        self._landed: dict[tuple[float, float], float] = {}

    def shape(self, shape: Any) -> Any:
        found = self._parts(shape)
        if not self._is_changed or not found:
            return None
        if all(part.geom_type == "Polygon" for part in found):
            return found[0] if len(found) == 1 else shapely.multipolygons(found)
        if all(part.geom_type == "LineString" for part in found):
            return found[0] if len(found) == 1 else shapely.multilinestrings(found)
        return shapely.geometrycollections(found)

    def _parts(self, shape: Any) -> list[Any]:
        if shape.geom_type == "Polygon":
            return self._polygon(shape)
        if shape.geom_type in ("LineString", "LinearRing"):
            return self._line(shapely.get_coordinates(shape))
        if shape.geom_type in ("Point", "MultiPoint"):
            return [shapely.transform(shape, self._to_lon_lat)]
        return [part for own in shapely.get_parts(shape) for part in self._parts(own)]

    def _polygon(self, polygon: Any) -> list[Any]:
        shell, *holes = [self._region(shapely.get_coordinates(ring)) for ring in shapely.get_rings(polygon)]
        # Parts of a ring around a pole share an edge.
        found = shapely.union_all(shell)
        if holes:
            found = shapely.difference(found, shapely.union_all([part for hole in holes for part in hole]))
        return [part for part in shapely.get_parts(found) if part.area > 0]

    def _region(self, xy: Floats) -> list[Any]:
        """What a ring surrounds, on the map."""
        path = self._path(xy)
        turns = round((path[-1, 0] - path[0, 0]) / 360)
        if turns:
            # Around a pole: all the map between the ring and that pole.
            self._is_changed = True
            inside = shapely.polygons(xy)
            is_inside = [
                np.isfinite(pole).all() and inside.intersects(shapely.Point(pole)) for pole in self._poles
            ]
            if abs(turns) != 1 or sum(is_inside) != 1:
                raise _UnsureError
            lat = -90.0 if is_inside[0] else 90.0
            self._landed[_key(path[0, 0], lat)] = path[0, 0]
            path = np.concatenate([path, [[path[-1, 0], lat], [path[0, 0], lat]], path[:1]])
        path = _with_crossings(path)
        polygon = shapely.polygons(path)
        if not shapely.is_valid(polygon):
            polygon = shapely.make_valid(polygon, method="structure", keep_collapsed=False)
        west, _, east, _ = polygon.bounds
        first, last = int(np.floor((west + 180) / 360)), int(np.ceil((east - 180) / 360))
        if first == last == 0:
            return [part for part in shapely.get_parts(polygon) if part.area > 0]
        self._is_changed = True
        parts = []
        for turn in range(first, last + 1):
            strip = shapely.box(360.0 * turn - 180, -91, 360.0 * turn + 180, 91)
            cut_out = self._turned(shapely.intersection(polygon, strip), turn)
            parts += [part for part in shapely.get_parts(cut_out) if part.area > 0]
        return parts

    def _line(self, xy: Floats) -> list[Any]:
        path = _with_crossings(self._path(xy))
        middles = (path[1:, 0] + path[:-1, 0]) / 2
        turns = np.ceil((middles - 180) / 360).astype(int)
        if turns.any():
            self._is_changed = True
        cuts = np.flatnonzero(np.diff(turns)) + 1
        starts, ends = np.append(0, cuts), np.append(cuts, len(turns))
        return [
            self._turned(shapely.linestrings(path[start : end + 1]), int(turns[start]))
            for start, end in zip(starts, ends, strict=True)
        ]

    def _path(self, xy: Floats) -> Floats:
        """Longitudes, counted on beyond 180 degrees, and latitudes of a line. An edge that is long, and bent on the map, has vertices of
        its own."""
        own = self._to_lon_lat(xy)
        half_turn = self._system.half_turn
        if half_turn is not None:
            is_wide = np.abs(np.diff(xy[:, 0])) > half_turn + _SAME
            # Along the edges of the map itself there is no doubt.
            at_rim = np.abs(np.abs(xy[:, 0]) - half_turn) <= _SAME
            if (is_wide & ~(at_rim[1:] & at_rim[:-1])).any():
                raise _UnsureError
        place, at, places = np.arange(len(xy), dtype=float), xy, own
        for halving in range(_HALVINGS):
            step = np.diff(places[:, 0])
            # What looks like nearly a turn may be none, or one.
            is_open = np.abs(step if halving < 2 else _short_way(step)) > _LONG
            if half_turn is None:
                # On a pole a longitude says nothing.
                is_pole = np.abs(places[:, 1]) > 90 - _SAME
                is_open |= is_pole[1:] != is_pole[:-1]
            wanted = np.flatnonzero(is_open)
            if not len(wanted):
                break
            half = (at[wanted] + at[wanted + 1]) / 2
            middle = (place[wanted] + place[wanted + 1]) / 2
            place, at = np.insert(place, wanted + 1, middle), np.insert(at, wanted + 1, half, axis=0)
            places = np.insert(places, wanted + 1, self._to_lon_lat(half), axis=0)
        if not np.isfinite(places).all():
            raise _UnsureError
        lon = places[0, 0] + np.append(0.0, np.cumsum(_short_way(np.diff(places[:, 0]))))
        turns = np.round((lon - places[:, 0]) / 360)
        self._is_changed |= bool(turns.any())
        self._landed.update(zip(map(_key, *places.T), places[:, 0], strict=True))
        lon = places[:, 0] + 360 * turns
        path = np.column_stack([lon, places[:, 1]])
        vertex = np.flatnonzero(place == np.floor(place))
        number = np.floor(place).astype(int)
        straight = path[vertex[number]] * (1 - (place - number))[:, None]
        straight += path[vertex[np.minimum(number + 1, len(vertex) - 1)]] * (place - number)[:, None]
        is_bent = np.bincount(number, np.abs(path - straight).max(axis=1) > _SAME, len(vertex)) > 0
        is_long = np.append(np.abs(np.diff(path[vertex, 0])) > _LONG, False)
        is_long |= np.abs(path[vertex, 1]) > 90 - _SAME
        is_long[:-1] |= is_long[1:] & (np.abs(path[vertex[1:], 1]) > 90 - _SAME)
        kept = (place == number) | (is_bent & is_long)[number]
        self._is_changed |= half_turn is None and bool((np.abs(path[:, 1]) > 90 - _SAME).any())
        return path[kept]

    def _turned(self, shape: Any, turns: int) -> Any:
        """Back on the map, each place with the very longitude that it had."""

        def back(path: Floats) -> Floats:
            lon = np.clip(path[:, 0] - 360.0 * turns, -180, 180).tolist()
            lat = path[:, 1].tolist()
            landed = [self._landed.get(_key(*place), place[0]) for place in zip(lon, lat, strict=True)]
            return np.column_stack([landed, lat])

        return shapely.transform(shape, back)

    def _to_lon_lat(self, xy: Floats) -> Floats:
        lon, lat, _ = self._system.to_lon_lat(*xy.T)
        return np.column_stack([lon, lat])


def _key(lon: float, lat: float) -> tuple[float, float]:
    return round(lon, 11), lat


def _short_way(steps: Floats) -> Floats:
    return (steps + 180) % 360 - 180


def _with_crossings(path: Floats) -> Floats:
    """With a vertex wherever the path crosses the antimeridian, so that both sides of a cut have the same."""
    begin, end = path[:-1], path[1:]
    low, high = np.minimum(begin[:, 0], end[:, 0]), np.maximum(begin[:, 0], end[:, 0])
    # Edges are short by now: none crosses twice.
    crossing = 360 * np.floor((high + 180) / 360) - 180
    at = np.flatnonzero((low < crossing) & (crossing < high))
    share = (crossing[at] - begin[at, 0]) / (end[at, 0] - begin[at, 0])
    lat = begin[at, 1] + share * (end[at, 1] - begin[at, 1])
    return np.insert(path, at + 1, np.column_stack([crossing[at], lat]), axis=0)
