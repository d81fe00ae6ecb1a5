"""The benchmark's data: points, small parcels and complex zones in one degree square, the same for every engine.

All files are GeoParquet, so that each engine reads them in its own way, and follow from seeds: what is there is used again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

WEST, SOUTH, EAST, NORTH = 10.0, 48.0, 11.0, 49.0
PARCELS, MANY_PARCELS, ZONES, FACILITIES = 20_000, 100_000, 200, 20_000
# One per cent of the square's area, in one place.
WINDOW = (10.41, 48.53, 10.51, 48.63)
# Points are drawn in chunks of so many: those of 0.5 million are the first of those of 2 million.
_CHUNK = 500_000
# Small enough that an engine with two cores has something for both in the smallest file.
_ROW_GROUP = 100_000


@dataclass(frozen=True)
class Data:
    """Files of one size: `points` of them to join; to measure distances from and to overlay, fewer, and no more than those."""

    folder: Path
    points: int

    @property
    def queries(self) -> int:
        return max(1, min(100_000, self.points // 5))

    @property
    def parcels_to_overlay(self) -> int:
        return max(1, min(PARCELS, self.points // 25))

    @property
    def many_parcels(self) -> int:
        """To overlay with simple areas, which with few takes no longer than a job of Spark needs to start."""
        return max(1, min(MANY_PARCELS, self.points // 20))

    def file(self, name: str) -> Path:
        """Written on first use. Names: points, changed_points, queries, facilities, parcels, overlay_parcels, many_parcels, zones, areas."""
        count, write = self._writers()[name]
        path = self.folder / _version() / f"{name}_{count}.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            write(unfinished)
            unfinished.rename(path)
        return path

    def _writers(self) -> dict[str, tuple[int, Callable[[Path], None]]]:
        overlaid = self.parcels_to_overlay
        return {
            "points": (self.points, lambda path: write_points(path, self.points)),
            "changed_points": (
                self.points,
                lambda path: write_changed(path, self.file("points"), changed_square(0.01)),
            ),
            "queries": (
                self.queries,
                lambda path: write_places(path, "point_id", places(self.queries, seed=31)),
            ),
            "facilities": (
                FACILITIES,
                lambda path: write_places(path, "facility_id", places(FACILITIES, seed=32)),
            ),
            "parcels": (PARCELS, lambda path: write_shapes(path, "parcel", parcels())),
            "overlay_parcels": (overlaid, lambda path: write_shapes(path, "parcel", parcels()[:overlaid])),
            "many_parcels": (
                self.many_parcels,
                lambda path: write_shapes(path, "parcel", parcels(MANY_PARCELS)[: self.many_parcels]),
            ),
            "zones": (ZONES, lambda path: write_shapes(path, "zone", zones())),
            "areas": (ZONES, lambda path: write_shapes(path, "area", areas())),
        }


def zones(count: int = ZONES) -> Any:
    """Ragged shapes of 5 to 12 thousand corners that overlap their neighbours a little."""
    chance = np.random.default_rng(21)
    return _blobs(chance, count, corners=(5_000, 12_001), reach=0.62, raggedness=0.25)


def parcels(count: int = PARCELS) -> Any:
    """Shapes of 10 to 200 corners, beside each other, some overlapping."""
    chance = np.random.default_rng(22)
    return _blobs(chance, count, corners=(10, 201), reach=0.52, raggedness=0.1)


def areas(count: int = ZONES) -> Any:
    """Simple shapes of the zones' size."""
    chance = np.random.default_rng(23)
    return _blobs(chance, count, corners=(8, 25), reach=0.62, raggedness=0.1)


def places(count: int, seed: int) -> Any:
    """Longitudes and latitudes, six in ten evenly spread, the others in the same forty towns."""
    low, high = np.array((WEST, SOUTH)), np.array((EAST, NORTH))
    towns = np.random.default_rng(20).uniform(low, high, (40, 2))
    chance = np.random.default_rng(seed)
    even = chance.uniform(low, high, (count, 2))
    crowded = towns[chance.integers(0, len(towns), count)] + chance.normal(0, 0.02, (count, 2))
    # Mirrored at the border, not moved onto it: no two places are the same.
    crowded = np.where(crowded < low, 2 * low - crowded, crowded)
    crowded = np.where(crowded > high, 2 * high - crowded, crowded)
    return np.where(chance.random((count, 1)) < 0.6, even, crowded)


def changed_square(share: float) -> tuple[float, float, float, float]:
    """A square of that share of the area."""
    side = np.sqrt(share)
    west, south = WEST + 0.3, SOUTH + 0.4
    return west, south, west + side * (EAST - WEST), south + side * (NORTH - SOUTH)


def write_points(path: Path, count: int) -> None:
    with _writer(path, "point_id", ["Point"]) as writer:
        for number, start in enumerate(range(0, count, _CHUNK)):
            rows = min(_CHUNK, count - start)
            # Always a whole chunk, of which a smaller file takes the beginning.
            _write(writer, np.arange(start, start + rows), places(_CHUNK, seed=100 + number)[:rows])


def write_changed(path: Path, source: Path, square: tuple[float, float, float, float]) -> None:
    """The points of `source`; those inside the square stand elsewhere inside it."""
    chance = np.random.default_rng(33)
    west, south, east, north = square
    with _writer(path, "point_id", ["Point"]) as writer:
        for batch in pq.ParquetFile(source).iter_batches(_CHUNK):
            xy = coordinates(batch["geometry"])
            x, y = xy.T
            inside = (x > west) & (x < east) & (y > south) & (y < north)
            xy[inside] = chance.uniform((west, south), (east, north), (int(inside.sum()), 2))
            _write(writer, batch["point_id"], xy)


def write_places(path: Path, key: str, xy: Any) -> None:
    with _writer(path, key, ["Point"]) as writer:
        _write(writer, np.arange(len(xy)), xy)


def write_shapes(path: Path, name: str, shapes: Any) -> None:
    with _writer(path, f"{name}_id", ["Polygon"]) as writer:
        wkb = pa.array(shapely.to_wkb(shapes), pa.binary())
        # Ten groups: engines that deal out work by row group find some for every core.
        writer.write_table(
            pa.table([np.arange(len(shapes)), wkb], schema=writer.schema), max(1, len(shapes) // 10)
        )


def wkb_of_points(xy: Any) -> pa.Array:
    records = np.zeros(len(xy), dtype=_POINT)
    records["order"], records["kind"], records["x"], records["y"] = 1, 1, xy[:, 0], xy[:, 1]
    offsets = np.arange(len(xy) + 1, dtype=np.int32) * records.itemsize
    return pa.Array.from_buffers(
        pa.binary(), len(xy), [None, pa.py_buffer(offsets), pa.py_buffer(records.tobytes())]
    )


def coordinates(wkb: pa.Array) -> Any:
    """Of points as this module writes them."""
    shapes = shapely.from_wkb(np.asarray(wkb.to_numpy(zero_copy_only=False), dtype=object))
    return shapely.get_coordinates(shapes)


_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")])


def _version() -> str:
    """Other code makes other data."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]


def _writer(path: Path, key: str, kinds: list[str]) -> Any:
    # No `crs` means longitude and latitude on WGS 84.
    geo = {
        "version": "1.1.0",
        "primary_column": "geometry",
        "columns": {"geometry": {"encoding": "WKB", "geometry_types": kinds}},
    }
    schema = pa.schema([(key, pa.int64()), ("geometry", pa.binary())], metadata={"geo": json.dumps(geo)})
    return pq.ParquetWriter(path, schema)


def _write(writer: Any, ids: Any, xy: Any) -> None:
    writer.write_table(pa.table([ids, wkb_of_points(xy)], schema=writer.schema), _ROW_GROUP)


def _blobs(
    chance: np.random.Generator, count: int, corners: tuple[int, int], reach: float, raggedness: float
) -> Any:
    """One shape a square of a grid, star-shaped around its middle, of so many corners."""
    across = int(np.ceil(np.sqrt(count)))
    step = (EAST - WEST) / across
    shapes = []
    for number in range(count):
        row, column = divmod(number, across)
        middle = np.array([WEST + (column + 0.5) * step, SOUTH + (row + 0.5) * step])
        middle += chance.uniform(-0.1, 0.1, 2) * step
        size = int(chance.integers(*corners))
        turn = np.sort(chance.uniform(0, 2 * np.pi, size))
        waves = sum(
            chance.uniform(0, raggedness / 2) * np.sin(turn * times + chance.uniform(0, 2 * np.pi))
            for times in (2, 3, 5, 11, 23)
        )
        radius = reach * step * (0.8 + waves + chance.uniform(-raggedness, raggedness, size) / 10)
        shapes.append(
            shapely.Polygon(middle + radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)]))
        )
    found = np.array(shapes)
    assert shapely.is_valid(found).all()
    return found
