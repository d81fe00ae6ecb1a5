"""The benchmark's data: the same on every machine, of any size, and what the cases say it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely

from benchmarks.spatial import data
from benchmarks.spatial.data import Data


def ids_and_places(path: Path) -> tuple[list[int], np.ndarray]:
    table = pq.read_table(path)
    return table.column(0).to_pylist(), data.coordinates(table.column(1).combine_chunks())


def test_a_smaller_file_is_the_beginning_of_a_larger_one(tmp_path: Path) -> None:
    few_ids, few = ids_and_places(Data(tmp_path, 1_000).file("points"))
    many_ids, many = ids_and_places(Data(tmp_path, 3_000).file("points"))
    assert few_ids == many_ids[:1_000] == list(range(1_000))
    assert (few == many[:1_000]).all()
    assert len(np.unique(many, axis=0)) == 3_000
    assert (many >= (data.WEST, data.SOUTH)).all()
    assert (many <= (data.EAST, data.NORTH)).all()


def test_files_are_written_once_and_the_same_every_time(tmp_path: Path) -> None:
    one, other = (Data(tmp_path / name, 1_000).file("queries") for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    written = one.stat().st_mtime_ns
    assert Data(tmp_path / "one", 1_000).file("queries").stat().st_mtime_ns == written
    assert not list(tmp_path.rglob("*.unfinished"))


def test_files_say_that_they_hold_geometry(tmp_path: Path) -> None:
    path = Data(tmp_path, 1_000).file("points")
    geo = json.loads(pq.read_metadata(path).metadata[b"geo"])
    assert geo["columns"]["geometry"] == {"encoding": "WKB", "geometry_types": ["Point"]}


def test_only_points_of_one_per_cent_of_the_area_change(tmp_path: Path) -> None:
    files = Data(tmp_path, 20_000)
    ids, before = ids_and_places(files.file("points"))
    same_ids, after = ids_and_places(files.file("changed_points"))
    assert ids == same_ids
    west, south, east, north = data.changed_square(0.01)
    assert (east - west) * (north - south) == pytest.approx(0.01)
    is_inside = (before > (west, south)).all(axis=1) & (before < (east, north)).all(axis=1)
    assert ((before != after).any(axis=1) == is_inside).all()
    assert is_inside.any()
    assert (after[is_inside] >= (west, south)).all()
    assert (after[is_inside] <= (east, north)).all()


def test_the_window_is_one_per_cent_of_the_area() -> None:
    assert shapely.box(*data.WINDOW).area == pytest.approx(0.01)


@pytest.mark.parametrize(("points", "queries", "parcels", "many"), [(500_000, 100_000, 20_000, 25_000), (8_000_000, 100_000, 20_000, 100_000), (10_000, 2_000, 400, 500), (1, 1, 1, 1)])  # fmt: skip
def test_distances_and_overlays_take_no_more_rows_than_is_said(
    points: int, queries: int, parcels: int, many: int
) -> None:
    files = Data(Path(), points)
    assert (files.queries, files.parcels_to_overlay, files.many_parcels) == (queries, parcels, many)


@pytest.mark.parametrize(
    ("shapes", "least", "most"),
    [
        (data.zones(3), 5_000, 12_000),
        (data.parcels(200), 10, 200),
        (data.areas(50), 8, 24),
    ],
)
def test_shapes_are_valid_and_as_complex_as_they_should_be(shapes: np.ndarray, least: int, most: int) -> None:
    assert shapely.is_valid(shapes).all()
    corners = shapely.get_num_coordinates(shapes) - 1
    assert least <= corners.min() <= corners.max() <= most
