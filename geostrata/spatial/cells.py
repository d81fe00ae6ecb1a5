"""H3 cells as shapes on the map: their outlines, the cells that cover a shape, compact sets.

A cell is a 64-bit number; bits 52 to 55 are its resolution, bits 45 to 51 its base cell, and below them each resolution from 1 to 15
has three bits for its digit, unused ones all set. Shapes and places are in EPSG:4326, longitude first, and a shape's edges are straight
on the map. A cell's edges are great circles, as H3 has them.
"""

from __future__ import annotations

from typing import Any

import h3.api.basic_int as h3
import numpy as np
import shapely
from h3 import H3BaseException

MODES = ("center", "contains", "overlaps", "exact")
# An array of this many cells is 80 MB. A cover beyond it is asked for by mistake.
MAX_CELLS = 10_000_000

_PENTAGONS = np.array([4, 14, 24, 38, 49, 58, 63, 72, 83, 97, 107, 117])
_EARTH_M = 6_371_007.18
# Steps from a resolution to the next shrink a cell's width by this.
_APERTURE = np.sqrt(7)
# Radians at resolution 0. No descendant of a cell reaches farther from its centre: H3 draws cells on a plane that touches a face of
# its icosahedron, with 0.382 from centre to centre, and the sphere never is larger than that plane. Descendants reach 0.61 of that.
_REACH = 0.24
# Radians at resolution 0. Whatever is this close to a place has its ancestors among the place's cell and that one's neighbours:
# the shortest edge is 0.144, and descendants lie up to 0.04 outside of their ancestor.
_NEXT = 0.05
# Two cells that share a vertex place it up to 7 nm apart.
_ROUNDING_M = 1e-6
# H3 takes latitudes from their sine, which next to a pole tells nothing of the last decimetre. Farther than this from it the error is
# far below the margin that _SAFELY gives.
_POLAR_M = 0.1
_POLAR_LATITUDE = 89.9
# Degrees, a tenth of a micrometre: what is closer to a pole lies on it.
_POLE = 1e-12
# How far an outline may leave the great circle, as a share of the edge's length.
_STRAIGHT = 1e-4
_HALVINGS = 12
# Grown by so much, an outline holds all of its cell.
_SAFELY = 1.002


def boundaries(cells: Any) -> Any:
    """Polygons, counter-clockwise, of valid cells: cut in two at the antimeridian, and up to the edge of the map around a pole."""
    return _outlines(np.asarray(cells, dtype=np.int64))


def is_valid(cells: Any) -> Any:
    # The h3 package knows no negative numbers.
    numbers = np.asarray(cells, dtype=np.int64).view(np.uint64).tolist()
    return np.fromiter(map(h3.is_valid_cell, numbers), dtype=bool, count=len(numbers))


def areas_m2(cells: Any) -> Any:
    """On the sphere that H3 takes the Earth for."""
    return np.array([h3.cell_area(cell, unit="m^2") for cell in np.asarray(cells).tolist()])


def distances(cells: Any, others: Any) -> list[int | None]:
    """Steps from cell to cell; none from what is no cell, on to another resolution, or where H3 can't tell."""
    known = is_valid(cells) & is_valid(others)
    return [
        _distance(*pair) if pair_known else None
        for *pair, pair_known in zip(
            np.asarray(cells).tolist(), np.asarray(others).tolist(), known, strict=True
        )
    ]


def _distance(cell: int, other: int) -> int | None:
    try:
        return int(h3.grid_distance(cell, other))
    except H3BaseException:
        return None


def compact(cells: Any) -> Any:
    """The fewest cells, of any resolution, with the same descendants: sorted."""
    left = np.unique(np.asarray(cells, dtype=np.int64))
    done = []
    for level in range(15, 0, -1):
        of_level = resolutions(left) == level
        own, left = left[of_level], left[~of_level]
        parents, which, counts = np.unique(
            parent_cells(own, level - 1), return_inverse=True, return_counts=True
        )
        is_whole = counts == np.where(_is_pentagon(parents), 6, 7)
        done.append(own[~is_whole[which]])
        left = np.union1d(left, parents[is_whole])
    found = np.concatenate([*done, left])
    return np.sort(found[~_has_ancestor(found)])


def uncompact(cells: Any, resolution: int) -> Any:
    """Cells of one resolution with the same descendants: sorted. Finer cells than that are left out."""
    cells = np.unique(np.asarray(cells, dtype=np.int64))
    levels = resolutions(cells)
    expected = float((7.0 ** (resolution - levels[levels <= resolution])).sum())
    _check_count(expected, "h3_uncompact", resolution)
    found = np.empty(0, dtype=np.int64)
    for level in range(resolution + 1):
        found = np.concatenate([_children(found, level)[1], cells[levels == level]])
    return np.unique(found)


def covers(shapes: Any, resolution: int, mode: str) -> list[Any]:
    """Of each shape the cells that cover it, sorted; of a missing one none. Modes:

    center    the centre of the cell lies in the shape
    contains  the shape contains the cell
    exact     the cell's outline, as `boundaries` draws it, and the shape overlap; a line or a point only has to meet it
    overlaps  all cells that a place in the shape can have by H3's own reckoning, and hardly another
    """
    shapes = np.array(shapes, dtype=object)
    is_there = ~shapely.is_missing(shapes)
    found: list[Any] = [np.empty(0, dtype=np.int64) if there else None for there in is_there]
    numbers = np.flatnonzero(is_there & ~shapely.is_empty(shapes))
    if len(numbers):
        owner, cell = _covering(shapes[numbers], resolution, mode)
        order = np.lexsort((cell, owner))
        cuts = np.searchsorted(owner[order], np.arange(1, len(numbers)))
        for number, own in zip(numbers, np.split(cell[order], cuts), strict=True):
            found[number] = own
    return found


def resolutions(cells: Any) -> Any:
    return cells >> 52 & 15


def parent_cells(cells: Any, level: int) -> Any:
    """Of cells that are not coarser than the level."""
    return cells & ~(15 << 52) | (level << 52) | (8 ** (15 - level) - 1)


def _covering(shapes: Any, resolution: int, mode: str) -> tuple[Any, Any]:
    """Pairs of a shape's number and a cell: from coarse cells to fine ones, those that a shape meets, until they are inside it."""
    shapely.prepare(shapes)
    starts = _start_levels(shapes, resolution)
    owner, cell, is_inside = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool)
    for level in range(resolution + 1):
        from_parent, cell = _children(cell, level)
        owner, is_inside = owner[from_parent], is_inside[from_parent]
        new_owner, new_cell = _first_cells(shapes, np.flatnonzero(starts == level), level)
        owner, cell = np.concatenate([owner, new_owner]), np.concatenate([cell, new_cell])
        is_inside = np.append(is_inside, np.zeros(len(new_owner), dtype=bool))
        unsure = np.flatnonzero(~is_inside)
        meets, contains = _meet_reach(shapes, owner[unsure], cell[unsure])
        is_inside[unsure] = contains
        keep = is_inside.copy()
        keep[unsure] = meets
        owner, cell, is_inside = owner[keep], cell[keep], is_inside[keep]
        per_shape = np.bincount(owner, np.where(is_inside, 7.0 ** (resolution - level), 1))
        _check_count(per_shape.max(initial=0), "h3_cover", resolution)
    unsure = np.flatnonzero(~is_inside)
    is_inside[unsure] = _is_covered(shapes, owner[unsure], cell[unsure], mode)
    return owner[is_inside], cell[is_inside]


def _is_covered(shapes: Any, owner: Any, cell: Any, mode: str) -> Any:
    cells, which = np.unique(cell, return_inverse=True)
    shape = shapes[owner]
    if mode == "center":
        return shapely.intersects_xy(shape, *_centres(cells)[which].T)
    if mode == "overlaps":
        growth_m = np.where(np.abs(_centres(cells)[:, 1]) > _POLAR_LATITUDE, _POLAR_M, 0)
        return shapely.intersects(shape, _outlines(cells, _SAFELY, growth_m)[which])
    smaller = _outlines(cells, growth_m=-_ROUNDING_M)[which]
    if mode == "contains":
        return shapely.covers(shape, smaller)
    # What has no area can't overlap: on a border it meets the cells on both sides.
    larger = _outlines(cells, growth_m=_ROUNDING_M)[which]
    return shapely.intersects(shape, np.where(shapely.get_dimensions(shape) == 2, smaller, larger))


def _start_levels(shapes: Any, resolution: int) -> Any:
    west, south, east, north = np.radians(shapely.bounds(shapes)).T
    # A point has no radius, and what lies nowhere has none that is a number.
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.hypot(east - west, north - south) / 2
        level = np.floor(np.log(_NEXT / radius) / np.log(_APERTURE))
    return np.clip(np.nan_to_num(level, nan=0), 0, resolution)


def _first_cells(shapes: Any, numbers: Any, level: int) -> tuple[Any, Any]:
    """Cells of a level that hold all of a shape: around its middle, or on the coarsest level all there are."""
    west, south, east, north = shapely.bounds(shapes[numbers]).T
    middles = zip(((south + north) / 2).tolist(), ((west + east) / 2).tolist(), strict=True)
    if level == 0:
        cells = [h3.get_res0_cells()] * len(numbers)
    else:
        cells = [h3.grid_disk(h3.latlng_to_cell(*middle, level), 1) for middle in middles]
    counts = [len(disk) for disk in cells]
    return np.repeat(numbers, counts), np.array([cell for disk in cells for cell in disk], dtype=np.int64)


def _meet_reach(shapes: Any, owner: Any, cell: Any) -> tuple[Any, Any]:
    """Whether a shape meets, and whether it contains, the box of everything that descends from a cell."""
    cells, which = np.unique(cell, return_inverse=True)
    boxes, others = _reach_boxes(cells)
    shape, box, other = shapes[owner], boxes[which], others[which]
    meets = shapely.intersects(shape, box)
    contains = meets.copy()
    contains[meets] = shapely.covers(shape[meets], box[meets])
    cut = np.flatnonzero(~shapely.is_missing(other))
    meets[cut] |= shapely.intersects(shape[cut], other[cut])
    contains[cut] &= shapely.covers(shape[cut], other[cut])
    return meets, contains


def reach_bounds(cells: Any) -> Any:
    """West, south, east and north of what surely holds all places of cells and of their descendants, which reach farther than a cell's
    own outline. A box may end beyond the antimeridian; around a pole it is as wide as the map."""
    reach = _REACH / _APERTURE ** resolutions(cells) + _POLAR_M / _EARTH_M
    lon, lat = np.radians(_centres(cells)).T
    at_pole = np.abs(lat) + reach >= np.pi / 2
    width = np.arcsin(np.minimum(np.sin(reach) / np.where(at_pole, 1, np.cos(lat)), 1))
    west, east = (
        np.where(at_pole, -180, np.degrees(lon - width)),
        np.where(at_pole, 180, np.degrees(lon + width)),
    )
    south, north = (
        np.degrees(np.maximum(lat - reach, -np.pi / 2)),
        np.degrees(np.minimum(lat + reach, np.pi / 2)),
    )
    return np.column_stack([west, south, east, north])


def _reach_boxes(cells: Any) -> tuple[Any, Any]:
    """Boxes on the map around cells and their descendants; a second one where the antimeridian cuts the first."""
    west, south, east, north = reach_bounds(cells).T
    boxes = shapely.box(np.maximum(west, -180), south, np.minimum(east, 180), north)
    others = np.full(len(cells), None, dtype=object)
    for cut, low, high in (
        (west < -180, west + 360, np.full(len(cells), 180.0)),
        (east > 180, np.full(len(cells), -180.0), east - 360),
    ):
        others[cut] = shapely.box(low[cut], south[cut], high[cut], north[cut])
    return boxes, others


def _centres(cells: Any) -> Any:
    return np.array([h3.cell_to_latlng(cell) for cell in cells.tolist()]).reshape(-1, 2)[:, ::-1]


def _outlines(cells: Any, factor: float = 1.0, growth_m: Any = 0.0) -> Any:
    """Polygons of cells, made larger about their centres by a factor and by metres."""
    corners = [h3.cell_to_boundary(cell) for cell in cells.tolist()]
    owner = np.repeat(np.arange(len(cells)), [len(ring) for ring in corners])
    lonlat = np.array([place for ring in corners for place in ring]).reshape(-1, 2)[:, ::-1]
    if factor != 1 or np.any(growth_m):
        centre = _vectors(_centres(cells))[owner]
        out = _vectors(lonlat) - centre
        size_m = np.zeros(len(cells))
        np.maximum.at(size_m, owner, np.linalg.norm(out, axis=1) * _EARTH_M)
        lonlat = _lonlats(centre + out * (factor + growth_m / size_m)[owner, None])
    return _polygons(*_along_great_circles(*_opened_at_poles(owner, lonlat)), len(cells))


def _opened_at_poles(owner: Any, lonlat: Any) -> tuple[Any, Any]:
    """A corner on a pole, of any longitude, is a line on the map: from the longitude before it to the one after."""
    at = np.flatnonzero(np.abs(lonlat[:, 1]) > 90 - _POLE)
    following = _following(owner)
    before, after = lonlat[np.argsort(following)[at], 0], lonlat[following[at], 0]
    pole = np.copysign(90.0, lonlat[at, 1])
    opened = np.insert(lonlat, at, np.column_stack([before, pole]), axis=0)
    opened[at + np.arange(1, len(at) + 1)] = np.column_stack([after, pole])
    return np.insert(owner, at, owner[at]), opened


def _along_great_circles(owner: Any, lonlat: Any) -> tuple[Any, Any]:
    """Rings (whose place is whose, places in order) with places added half-way, and half-way again, where the map's straight lines
    leave the great circle. Edge by edge, so that neighbours still share theirs."""
    following = _following(owner)
    # A place's number, with fractions for places between.
    number, piece = np.arange(len(owner), dtype=float), 1.0
    begin, end = lonlat, lonlat[following]
    length = np.degrees(np.linalg.norm(_vectors(end) - _vectors(begin), axis=1))
    allowed = np.maximum(_STRAIGHT * length, _POLE)
    numbers, owners, places = [number], [owner], [lonlat]
    for _ in range(_HALVINGS):
        half = _lonlats(_vectors(begin) + _vectors(end))
        apart = _turned(half - (begin + _turned(end - begin) / 2))
        apart[:, 0] *= np.cos(np.radians(half[:, 1]))
        bent = np.hypot(*apart.T) > allowed
        piece /= 2
        owner, number, half, allowed = owner[bent], number[bent], half[bent], np.tile(allowed[bent], 2)
        numbers.append(number + piece)
        owners.append(owner)
        places.append(half)
        begin, end = np.concatenate([begin[bent], half]), np.concatenate([half, end[bent]])
        owner, number = np.tile(owner, 2), np.concatenate([number, number + piece])
    order = np.argsort(np.concatenate(numbers))
    return np.concatenate(owners)[order], np.concatenate(places)[order]


def _polygons(owner: Any, lonlat: Any, count: int) -> Any:
    """Polygons of rings; those that the antimeridian cuts, or that go around a pole, one by one."""
    jumps = np.abs(lonlat[_following(owner), 0] - lonlat[:, 0]) > 180
    crossings = np.bincount(owner[jumps], minlength=count)
    whole = crossings[owner] == 0
    found = np.full(count, None, dtype=object)
    found[crossings == 0] = shapely.polygons(
        shapely.linearrings(lonlat[whole], indices=np.unique(owner[whole], return_inverse=True)[1])
    )
    for number in np.flatnonzero(crossings):
        # A cell is convex: around a pole it crosses the antimeridian once, elsewhere twice.
        draw = _polar if crossings[number] == 1 else _cut
        found[number] = draw(lonlat[np.searchsorted(owner, number) : np.searchsorted(owner, number + 1)])
    return found


def _following(owner: Any) -> Any:
    """The number of the next place on the same ring."""
    following = np.arange(1, len(owner) + 1)
    is_last = np.diff(owner, append=-1) != 0
    following[is_last] = np.searchsorted(owner, owner[is_last])
    return following


def _polar(ring: Any) -> Any:
    """A cell with a pole in it: all the map beyond the ring."""
    last = int(np.abs(np.diff(ring[:, 0], append=ring[0, 0])).argmax())
    ring = np.roll(ring, -1 - last, axis=0)
    (first_lon, first_lat), (last_lon, last_lat) = ring[0], ring[-1]
    begin, end = np.copysign(180.0, first_lon), np.copysign(180.0, last_lon)
    share = (end - last_lon) / (first_lon - begin + end - last_lon)
    crossing = last_lat + (first_lat - last_lat) * share
    pole = np.copysign(90.0, crossing)
    return shapely.polygons([[begin, pole], [begin, crossing], *ring, [end, crossing], [end, pole]])


def _cut(ring: Any) -> Any:
    """A cell that leaves the map on one side and comes back on the other."""
    whole = shapely.polygons(np.where([True, False], ring % 360, ring))
    east = shapely.intersection(whole, shapely.box(0, -90, 180, 90))
    west = shapely.intersection(whole, shapely.box(180, -90, 360, 90))
    west = shapely.transform(west, lambda places: places - [360, 0])
    # A corner on the antimeridian itself leaves nothing on the other side.
    parts = [part for part in shapely.get_parts([east, west]) if part.area > 0]
    return shapely.orient_polygons(shapely.multipolygons(parts) if len(parts) > 1 else parts[0])


def _turned(steps: Any) -> Any:
    """Differences of places, the short way around the globe."""
    steps[..., 0] = (steps[..., 0] + 180) % 360 - 180
    return steps


def _vectors(lonlat: Any) -> Any:
    lon, lat = np.radians(lonlat[..., 0]), np.radians(lonlat[..., 1])
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def _lonlats(vectors: Any) -> Any:
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.degrees(np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))], axis=-1))


def _children(cells: Any, level: int) -> tuple[Any, Any]:
    """Children, of `level`, of cells one level up; and the number of each one's parent."""
    shift = 3 * (15 - level)
    first = (cells + (1 << 52)) & ~(7 << shift)
    found = first[:, None] | (np.arange(7) << shift)
    # The first of the six directions is missing around a pentagon.
    is_there = np.ones(found.shape, dtype=bool)
    is_there[_is_pentagon(cells), 1] = False
    return np.nonzero(is_there)[0], found[is_there]


def _is_pentagon(cells: Any) -> Any:
    unused = 3 * (15 - resolutions(cells))
    return np.isin(cells >> 45 & 127, _PENTAGONS) & ((cells & (1 << 45) - 1) >> unused == 0)


def _has_ancestor(cells: Any) -> Any:
    levels = resolutions(cells)
    found = np.zeros(len(cells), dtype=bool)
    for level in np.unique(levels):
        finer = levels > level
        found[finer] |= np.isin(parent_cells(cells[finer], int(level)), cells[levels == level])
    return found


def _check_count(count: float, macro: str, resolution: int) -> None:
    if count > MAX_CELLS:
        raise ValueError(
            f"{macro}: more than {MAX_CELLS:,} cells of resolution {resolution} for one value; take a coarser resolution"
        )
