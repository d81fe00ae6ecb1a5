"""Covers polygons with H3 cells, so that the part of a shape in a cell says the same of the cell's points as the whole shape.

A *core* cell lies inside the shape. A *boundary* cell has a chip: a small polygon with every edge of the shape that comes near the cell, whole
and with its own corners, closed by lines that keep away from the cell. An edge that were cut would end in a rounded corner, hence be tilted, and
points on it would change sides: so each chip is cut out with a region that holds the edges near the cell from end to end.

H3 bounds its cells by arcs, the plane by straight lines. "Near a cell" is the hexagon, or a box, grown by more than they differ.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import h3.api.basic_int as h3
import numpy as np
import shapely

from geostrata.geometry.arrays import Flags, Floats, Ints, Objects, by_halves, objects

# The resolution that is chosen gives the middle one of all shapes about so many cells, and all together so many: more make more points fall
# into core cells, and take longer to make and to join.
CELLS_OF_A_SHAPE, CELLS_IN_ALL = 1_000, 1_000_000
# Cells across, from which on a shape is cut up first.
_LARGE = 8

# Points of a cell, and of all its descendants, are no farther from its middle than this many mean edges of its resolution. On the plane that H3
# draws cells on, which is nowhere smaller than the globe, they reach 1.17; the farthest that was found on the globe is 1.16.
_REACH = 1.21
# How far a hexagon of straight lines is grown, as a share of its size. What was found to be needed at any resolution is 0.18 of the
# edge's angle times the tangent of the latitude, by which arcs bulge, and 2e-7 for rounding; taken is all of the bulge, and this.
_GROWTH = 0.001
# Where arcs bulge by more, which is near the poles, a box takes the hexagon's place.
_LARGEST_BULGE = 0.05
# How far the region of a chip reaches beyond what it must hold, as a share of the cell's size.
_CLEARANCE = 0.01
# A region is a rectangle as long as it is no larger than so many cells.
_STRETCHED = 4
# Chips are cut out of those so many resolutions above.
_STEP = 2


@dataclass(frozen=True)
class Cells:
    """`shape`: number of the shape; `chip`: a polygon, None for core cells."""

    shape: Ints
    cell: Ints
    is_core: Flags
    chip: Objects

    def __len__(self) -> int:
        return len(self.cell)

    def at(self, rows: Any) -> Cells:
        return Cells(*(getattr(self, field.name)[rows] for field in fields(Cells)))


def cover(shapes: Any, resolution: int, is_final: bool = True) -> Cells:
    """The cells of polygons and multipolygons. Others, and missing ones, have none.

    Not `is_final`: the chips hold for all descendants of their cells, and `refine` goes on from them."""
    shapes = polygons(shapes)
    shape, cell = _seeds(shapes, resolution)
    levels = resolution_of(cell)
    return _joined(
        _descend(shapes, shape[levels == level], cell[levels == level], resolution, is_final)
        for level in np.unique(levels)
    )


def refine(given: Cells, resolution: int) -> Cells:
    """The cells of a finer resolution, from cells of one resolution that are not final."""
    core, rest = given.at(given.is_core), given.at(~given.is_core)
    found = _descend(rest.chip, np.arange(len(rest)), rest.cell, resolution, True)
    found = Cells(rest.shape[found.shape], found.cell, found.is_core, found.chip)
    return _joined([_finer(core, resolution), found])


def choose_resolution(middle_m2: float, total_m2: float) -> int:
    """The finest at which the middle one of the shapes, and all of them together, have no more cells than they may."""
    for resolution in range(15, 0, -1):
        cell_m2 = h3.average_hexagon_area(resolution, "m^2")
        if middle_m2 <= CELLS_OF_A_SHAPE * cell_m2 and total_m2 <= CELLS_IN_ALL * cell_m2:
            return resolution
    return 0


def rough_areas_m2(shapes: Any) -> Floats:
    """Of the map's area, shrunk as its middle is; 0 where there is none. Good enough to choose a resolution by."""
    area = shapely.area(polygons(shapes))
    bounds = shapely.bounds(objects(shapes)).reshape(-1, 4)
    middle = np.radians((bounds[:, 1] + bounds[:, 3]) / 2)
    return np.nan_to_num(area * np.cos(middle) * 111_195.0**2)


def large(shapes: Any, resolution: int) -> Flags:
    """Which shapes are worth cutting up by cells of this resolution before their parts are worked on elsewhere."""
    bounds = shapely.bounds(objects(shapes)).reshape(-1, 4)
    extent = np.maximum(bounds[:, 2] - bounds[:, 0], bounds[:, 3] - bounds[:, 1])
    found: Flags = extent > _LARGE * np.degrees(2 * _edge_rad()[resolution])
    return found


def polygons(shapes: Any) -> Objects:
    """Of each geometry its area, as a polygon or multipolygon; None where it has none."""
    found = objects(shapes)
    kinds = shapely.get_type_id(found)
    for number in np.flatnonzero(kinds == shapely.GeometryType.GEOMETRYCOLLECTION):
        found[number] = _area(found[number])
    is_area = np.isin(shapely.get_type_id(found), (3, 6)) & ~shapely.is_empty(found)
    found[~is_area] = None
    return found


def _area(collection: Any) -> Any:
    parts = shapely.get_parts(collection)
    parts = np.concatenate([shapely.get_parts(part) for part in parts] or [objects([])])
    parts = parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON]
    return parts[0] if len(parts) == 1 else shapely.multipolygons(parts)


def _joined(found: Any) -> Cells:
    none = np.zeros(0, dtype=np.int64)
    found = [Cells(none, none, none.astype(bool), none.astype(object)), *found]
    return Cells(*(np.concatenate([getattr(one, field.name) for one in found]) for field in fields(Cells)))


def _core(shape: Ints, cell: Ints) -> Cells:
    return Cells(shape, cell, np.ones(len(cell), dtype=bool), np.full(len(cell), None))


def _finer(core: Cells, resolution: int) -> Cells:
    cell, rows = descendants(core.cell, resolution)
    return _core(core.shape[rows], cell)


# --- H3, in arrays -----------------------------------------------------------------------------------------------------------


def resolution_of(cells: Ints) -> Ints:
    return (cells >> 52) & 15


def children(cells: Ints) -> tuple[Ints, Ints]:
    """The cells one resolution finer, and the row of the parent of each, in order."""
    finer = resolution_of(cells) + 1
    shift = 3 * (15 - finer)
    first = (cells & ~(15 << 52) & ~(7 << shift)) | (finer << 52)
    rows = np.repeat(np.arange(len(cells)), 7)
    digits = np.tile(np.arange(7), len(cells))
    # A pentagon has no child in the direction of its missing side.
    kept = ~((digits == 1) & _is_pentagon(cells)[rows])
    return (first[rows] | (digits << shift[rows]))[kept], rows[kept]


def descendants(cells: Ints, resolution: int) -> tuple[Ints, Ints]:
    """The cells of a resolution within these, which may be of several coarser ones, and the row of the ancestor of each."""
    rows = np.arange(len(cells))
    found = [(cells[:0], rows[:0])]
    while len(cells):
        is_done = resolution_of(cells) == resolution
        found.append((cells[is_done], rows[is_done]))
        cells, parents = children(cells[~is_done])
        rows = rows[~is_done][parents]
    return _stacked(found)


def _is_pentagon(cells: Ints) -> Flags:
    # Below the base cell each resolution has three bits; of those in use all are zero in the middle of a base cell.
    digits = (cells & ((1 << 45) - 1)) >> (45 - 3 * resolution_of(cells))
    found: Flags = (digits == 0) & np.isin(cells >> 45 & 127, _pentagons())
    return found


@cache
def _pentagons() -> Ints:
    return np.array(h3.get_pentagons(0), dtype=np.int64) >> 45 & 127


@cache
def _edge_rad() -> Floats:
    """Mean length of an edge by resolution, as an angle."""
    earth_km = 6371.007180918475
    return np.array([h3.average_hexagon_edge_length(number, "km") / earth_km for number in range(16)])


def _middles(cells: Ints) -> Floats:
    """Longitude and latitude."""
    distinct, at = np.unique(cells, return_inverse=True)
    return np.array([h3.cell_to_latlng(cell) for cell in distinct.tolist()]).reshape(-1, 2)[at, ::-1]


@dataclass(frozen=True)
class _Boxes:
    """In degrees, around cells; two where one would lie over the antimeridian. In the order of the cells."""

    row: Ints
    bounds: Floats

    @classmethod
    def around(cls, cells: Ints) -> _Boxes:
        """Of all points of the cells and of their descendants."""
        lon, lat = _middles(cells).T
        reach = _REACH * _edge_rad()[resolution_of(cells)]
        south, north = lat - np.degrees(reach), lat + np.degrees(reach)
        has_pole = (south <= -90) | (north >= 90)
        sine = np.sin(reach) / np.maximum(np.cos(np.radians(lat)), 1e-12)
        half = np.where(has_pole, 180, np.degrees(np.arcsin(np.minimum(sine, 1))))
        lon = np.where(has_pole, 0, lon)
        bounds = np.column_stack([lon - half, south, lon + half, north])
        # What sticks out on one side comes in on the other.
        over = np.flatnonzero((bounds[:, 0] < -180) | (bounds[:, 2] > 180))
        turned = bounds[over]
        turned[:, 0::2] += np.where(turned[:, :1] < -180, 360, -360)
        return cls._in_order(np.concatenate([np.arange(len(cells)), over]), np.concatenate([bounds, turned]))

    @classmethod
    def _in_order(cls, row: Ints, bounds: Floats) -> _Boxes:
        order = np.argsort(row, kind="stable")
        return cls(row[order], bounds[order])

    @classmethod
    def of_hexagons(cls, hexagons: Objects, cells: Ints) -> _Boxes:
        has_none = shapely.is_missing(hexagons)
        plain, others = np.flatnonzero(~has_none), np.flatnonzero(has_none)
        around = cls.around(cells[others])
        return cls._in_order(
            np.concatenate([plain, others[around.row]]),
            np.concatenate([shapely.bounds(hexagons[plain]).reshape(-1, 4), around.bounds]),
        )


def hexagons_of(cells: Ints) -> Objects:
    """The hexagon of each cell, grown so that it holds all the cell's points; None at the antimeridian and the poles."""
    if not len(cells):
        return objects([])
    corners = [h3.cell_to_boundary(cell) for cell in cells.tolist()]
    counts = np.array([len(ring) for ring in corners])
    # Few have more corners or fewer, at the edges of H3's icosahedron: all get as many, the last one repeated.
    most = int(counts.max())
    xy = np.array([ring + ring[-1:] * (most - len(ring)) for ring in corners])[:, :, ::-1]
    repeated = (most - counts)[:, None] * xy[:, -1]
    middle = ((xy.sum(axis=1) - repeated) / counts[:, None])[:, None]
    steepest = np.radians(np.minimum(np.abs(xy[:, :, 1]).max(axis=1), 89.9999))
    bulge = _edge_rad()[resolution_of(cells)] * np.tan(steepest)
    found = shapely.polygons(middle + (xy - middle) * (1 + _GROWTH + bulge)[:, None, None])
    found[counts != 6] = shapely.convex_hull(found[counts != 6])
    bounds = shapely.bounds(found)
    is_over = (bounds[:, 0] <= -180) | (bounds[:, 2] >= 180) | (bounds[:, 2] - bounds[:, 0] >= 180)
    found[is_over | (bulge > _LARGEST_BULGE)] = None
    return found


# --- the descent -------------------------------------------------------------------------------------------------------------


def _seeds(shapes: Objects, resolution: int) -> tuple[Ints, Ints]:
    """Pairs of shape and cell that together hold all of the shape: cells of about its size, or of the wanted resolution."""
    bounds = shapely.bounds(shapes).reshape(-1, 4)
    extent = np.maximum(bounds[:, 2] - bounds[:, 0], bounds[:, 3] - bounds[:, 1])
    start = (extent[:, None] < np.degrees(2 * _REACH * _edge_rad()[:resolution])).sum(axis=1)
    known = np.flatnonzero(~np.isnan(extent))
    world = np.array(h3.get_res0_cells(), dtype=np.int64)
    shape, cell = np.repeat(known, len(world)), np.tile(world, len(known))
    found = [(shape[:0], cell[:0])]
    while len(cell):
        boxes = _Boxes.around(cell)
        kept = np.unique(boxes.row[_overlap(boxes.bounds, bounds[shape[boxes.row]])])
        shape, cell = shape[kept], cell[kept]
        is_done = resolution_of(cell) == start[shape]
        found.append((shape[is_done], cell[is_done]))
        cell, parents = children(cell[~is_done])
        shape = shape[~is_done][parents]
    return _stacked(found)


def _descend(shapes: Objects, shape: Ints, cell: Ints, resolution: int, is_final: bool) -> Cells:
    """From pairs of shape and cell, the cells of one resolution, to the wanted one."""
    shapely.prepare(shapes)
    found: list[Cells] = []
    chips, chip = shapes, shape
    while len(cell):
        level = min(int(resolution_of(cell[:1])[0]) + _STEP, resolution)
        leg = _leg(
            shapes[shape], chips, chip, cell, level, level == resolution, is_final and level == resolution
        )
        shape = shape[leg.shape]
        found.append(_finer(_core(shape[leg.is_core], leg.cell[leg.is_core]), resolution))
        shape, cell, chips = shape[~leg.is_core], leg.cell[~leg.is_core], leg.chip[~leg.is_core]
        if level == resolution:
            found.append(Cells(shape, cell, np.zeros(len(cell), dtype=bool), chips))
            break
        chip = np.arange(len(cell))
    return _joined(found)


def _leg(
    origin: Objects, chips: Objects, chip: Ints, cell: Ints, level: int, is_last: bool, is_final: bool
) -> Cells:
    """Goes down to `level` and cuts the chips there. Each cell has a shape, which is asked, and a number among the chips of some
    resolutions above, which are cut. `shape` of the outcome is a row of what was given."""
    edges = _Edges.of(chips)
    given = np.arange(len(cell))
    row, edge = edges.of_polygons(chip)
    found: list[Cells] = []
    while True:
        boxes = _Boxes.around(cell)
        box, edge = edges.near(boxes, row, edge)
        is_mixed = np.bincount(boxes.row[box], minlength=len(cell)) > 0
        is_core = _is_inside(origin[given], cell, ~is_mixed)
        found.append(_core(given[is_core], cell[is_core]))
        boxes, box, edge = _kept(is_mixed, boxes, box, edge)
        given, cell = given[is_mixed], cell[is_mixed]
        row, edge_of_row = _once(boxes.row[box], edge, boxes)
        if not len(cell) or int(resolution_of(cell[:1])[0]) == level:
            break
        cell, parents = children(cell)
        row, edge = _handed_down(row, edge_of_row, parents)
        given = given[parents]
    if is_final:
        hexagons = hexagons_of(cell)
        boxes = _Boxes.of_hexagons(hexagons, cell)
        box, edge = edges.near(boxes, row, edge_of_row)
        is_core = shapely.contains_properly(origin[given], hexagons)
        found.append(_core(given[is_core], cell[is_core]))
        is_mixed = ~is_core & (shapely.is_missing(hexagons) | shapely.intersects(origin[given], hexagons))
        boxes, box, edge = _kept(is_mixed, boxes, box, edge)
        given, cell = given[is_mixed], cell[is_mixed]
    cut = _Cut(
        origin[given], chips[chip[given]], _middles(cell), boxes, edges, box, edge, must_be_valid=is_last
    )
    return _joined([*found, Cells(given, cell, np.zeros(len(cell), dtype=bool), cut.chips())])


def _is_inside(shapes: Objects, cell: Ints, is_asked: Flags) -> Flags:
    """Whether cells without any edge of the shape near them are in it."""
    found = np.zeros(len(cell), dtype=bool)
    found[is_asked] = shapely.contains_xy(shapes[is_asked], *_middles(cell[is_asked]).T)
    return found


def _kept(is_kept: Flags, boxes: _Boxes, box: Ints, edge: Ints) -> tuple[_Boxes, Ints, Ints]:
    """The boxes of some rows and their pairs, counted anew."""
    own = is_kept[boxes.row]
    number, row = np.cumsum(own) - 1, np.cumsum(is_kept) - 1
    pairs = own[box]
    return _Boxes(row[boxes.row[own]], boxes.bounds[own]), number[box[pairs]], edge[pairs]


def _handed_down(row: Ints, edge: Ints, parents: Ints) -> tuple[Ints, Ints]:
    """Each child's edges are its parent's. `row` is in order."""
    counts = np.bincount(row, minlength=parents.max(initial=-1) + 1)
    starts = np.cumsum(counts) - counts
    at = _ranges(starts[parents], counts[parents])
    return np.repeat(np.arange(len(parents)), counts[parents]), edge[at]


def _once(row: Ints, edge: Ints, boxes: _Boxes) -> tuple[Ints, Ints]:
    """Without the pairs that came twice because the row has two boxes."""
    if (boxes.row[1:] != boxes.row[:-1]).all():
        return row, edge
    key = np.sort((row << 32) | edge)
    key = key[np.append(True, key[1:] != key[:-1])] if len(key) else key
    return key >> 32, key & 0xFFFFFFFF


def _ranges(starts: Ints, counts: Ints) -> Ints:
    """starts[0], starts[0] + 1, ... so many of each."""
    found: Ints = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return found


def _overlap(one: Floats, other: Floats) -> Flags:
    found: Flags = np.all(one[:, :2] <= other[:, 2:], axis=1)
    found &= np.all(one[:, 2:] >= other[:, :2], axis=1)
    return found


def _stacked(found: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    return np.concatenate([one for one, _ in found]), np.concatenate([other for _, other in found])


# --- edges and chips ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Edges:
    """Of all rings of the polygons, in their order; those of no length are left out."""

    start: Floats
    end: Floats
    first: Ints
    count: Ints

    @classmethod
    def of(cls, shapes: Objects) -> _Edges:
        parts, owner = shapely.get_parts(shapes, return_index=True)
        rings, part = shapely.get_rings(parts, return_index=True)
        xy, ring = shapely.get_coordinates(rings, return_index=True)
        is_edge = (ring[1:] == ring[:-1]) & (xy[1:] != xy[:-1]).any(axis=1)
        count = np.bincount(owner[part[ring[1:][is_edge]]], minlength=len(shapes))
        return cls(xy[:-1][is_edge], xy[1:][is_edge], np.cumsum(count) - count, count)

    def of_polygons(self, polygon: Ints) -> tuple[Ints, Ints]:
        counts = self.count[polygon]
        return np.repeat(np.arange(len(polygon)), counts), _ranges(self.first[polygon], counts)

    def near(self, boxes: _Boxes, row: Ints, edge: Ints) -> tuple[Ints, Ints]:
        """Of pairs of row and edge, in the order of rows, those that meet a box of the row: pairs of box and edge."""
        counts = np.bincount(row, minlength=boxes.row.max(initial=-1) + 1)
        starts = np.cumsum(counts) - counts
        box = np.repeat(np.arange(len(boxes.row)), counts[boxes.row])
        edge = edge[_ranges(starts[boxes.row], counts[boxes.row])]
        for axis in (0, 1):
            low, high = boxes.bounds[:, axis].copy(), boxes.bounds[:, axis + 2].copy()
            for ends, limit, compare in (
                (np.minimum(self.start[:, axis], self.end[:, axis]), high, np.less_equal),
                (np.maximum(self.start[:, axis], self.end[:, axis]), low, np.greater_equal),
            ):
                # One comparison at a time: each leaves fewer pairs to the next.
                met = compare(ends[edge], limit[box])
                box, edge = box[met], edge[met]
        # Beside each other, though their boxes overlap: all corners on one side of the edge.
        middle = (boxes.bounds[:, :2] + boxes.bounds[:, 2:]) / 2
        half = (boxes.bounds[:, 2:] - boxes.bounds[:, :2]) / 2
        along = self.end[edge] - self.start[edge]
        apart = self.start[edge] - middle[box]
        cross = np.abs(along[:, 0] * apart[:, 1] - along[:, 1] * apart[:, 0])
        met = cross <= (np.abs(along[:, ::-1]) * half[box]).sum(axis=1) * (1 + 1e-9)
        return box[met], edge[met]

    def fingerprints(self, row: Ints, edge: Ints, rows: int) -> Any:
        """One number for the edges of each row, whatever their order and direction."""
        ends = np.concatenate([self.start, self.end], axis=1) + 0.0
        bits = ends.view(np.uint64).reshape(-1, 2, 2)
        mixed = _scrambled(_scrambled(bits[:, :, 0]) + bits[:, :, 1])
        both = _scrambled(mixed[:, 0] + mixed[:, 1])
        found = np.zeros(rows, dtype=np.uint64)
        np.add.at(found, row, both[edge])
        return found


def _scrambled(bits: Any) -> Any:
    bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True)
class _Cut:
    """What chips are made of. One row a chip: the shape that it stands for, the one that it is cut out of, a point of its cell, the boxes
    around the cell, and the pairs of box and edge that meet."""

    origin: Objects
    shapes: Objects
    middles: Floats
    boxes: _Boxes
    edges: _Edges
    box: Ints
    edge: Ints
    # Chips that only more chips are cut out of are spared that test, the dearest of all.
    must_be_valid: bool

    def chips(self) -> Objects:
        found = self._clipped()
        is_bad = ~self._stands(found)
        if is_bad.any():
            rest = self._at(is_bad)
            chips = rest._overlaid()
            # If that didn't leave the edges near the cell as they are either, the shape itself will do.
            found[is_bad] = np.where(rest._stands(chips), chips, rest.origin)
        return found

    def _at(self, rows: Flags) -> _Cut:
        boxes, box, edge = _kept(rows, self.boxes, self.box, self.edge)
        shapes = self.origin[rows], self.shapes[rows]
        return _Cut(*shapes, self.middles[rows], boxes, self.edges, box, edge, self.must_be_valid)

    def _clipped(self) -> Objects:
        """Cut out by a rectangle: quick, and not always clean. None where a long edge would make the rectangle large."""
        bounds = self.boxes.bounds.copy()
        for ends in (self.edges.start[self.edge], self.edges.end[self.edge]):
            np.minimum.at(bounds[:, :2], self.box, ends)
            np.maximum.at(bounds[:, 2:], self.box, ends)
        size = self.boxes.bounds[:, 2:] - self.boxes.bounds[:, :2]
        is_small = (bounds[:, 2:] - bounds[:, :2] <= _STRETCHED * size).all(axis=1) & ~self._is_shared()
        bounds += _CLEARANCE * size.max(axis=1, keepdims=True) * (-1, -1, 1, 1)
        found = np.full(len(self.shapes), None)
        for row, window in zip(self.boxes.row[is_small], bounds[is_small].tolist(), strict=True):
            # Not every shape that isn't valid can be clipped; overlay will tell.
            with suppress(shapely.errors.GEOSException):
                found[row] = shapely.clip_by_rect(self.shapes[row], *window)
        return polygons(found)

    def _is_shared(self) -> Flags:
        """Boxes that have a row in common."""
        found: Flags = (np.bincount(self.boxes.row) > 1)[self.boxes.row]
        return found

    def _overlaid(self) -> Objects:
        """Cut out by a region that winds itself around the boxes and the edges."""
        regions = np.full(len(self.shapes), None)
        for row, hull in zip(self.boxes.row, self._hulls(), strict=True):
            regions[row] = hull if regions[row] is None else shapely.union(regions[row], hull)
        found: Objects = by_halves(
            lambda pairs: polygons(shapely.intersection(*map(objects, zip(*pairs, strict=True)))),
            objects(zip(self.shapes, regions, strict=True)),
            None,
        )
        return found

    def _hulls(self) -> Objects:
        """Around each box and the edges that meet it."""
        size = (self.boxes.bounds[:, 2:] - self.boxes.bounds[:, :2]).max(axis=1)
        corners = self.boxes.bounds[:, [0, 1, 0, 3, 2, 1, 2, 3]].reshape(-1, 2)
        box = np.concatenate([np.repeat(np.arange(len(size)), 4), self.box, self.box])
        xy = np.concatenate([corners, self.edges.start[self.edge], self.edges.end[self.edge]])
        order = np.argsort(box, kind="stable")
        box, xy = np.repeat(box[order], 4), np.repeat(xy[order], 4, axis=0)
        aside = np.tile([[1, 1], [1, -1], [-1, 1], [-1, -1]], (len(order), 1))
        xy += aside * _CLEARANCE * size[box, None]
        found: Objects = shapely.convex_hull(shapely.multipoints(xy, indices=box))
        return found

    def _stands(self, chips: Objects) -> Flags:
        """Whether a chip can stand for its shape: it is valid, has the same edges near the cell, and says the same of one point of it. Then
        it says so of all, since what differs between the two has its outline elsewhere."""
        x, y = self.middles.T
        expected = self.edges.fingerprints(
            *_once(self.boxes.row[self.box], self.edge, self.boxes), len(chips)
        )
        edges = _Edges.of(chips)
        box, edge = edges.near(self.boxes, *edges.of_polygons(np.arange(len(chips))))
        found: Flags = (
            edges.fingerprints(*_once(self.boxes.row[box], edge, self.boxes), len(chips)) == expected
        )
        for test in (shapely.contains_xy, shapely.intersects_xy):
            found &= test(chips, x, y) == test(self.origin, x, y)
        if self.must_be_valid:
            found &= shapely.is_valid(chips)
        return found
