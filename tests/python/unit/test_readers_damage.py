"""What GDAL makes nothing or zero of is still delivered: those who judge a row must see it."""

from __future__ import annotations

import json
import sqlite3
import struct
import time
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
import reader_files as files
import shapely

from geostrata.readers import HalfWritten, ReaderError, check, landed, ogr

# GDAL warns of each damaged shape.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

COUNT = 8
POINT = shapely.to_wkb(shapely.Point(1, 2))


def shapes_of(path: Path) -> tuple[bytearray, list[tuple[int, int]]]:
    """The .shp, and where the content of each record begins and ends."""
    index = path.with_suffix(".shx").read_bytes()[100:]
    places = [(2 * at + 8, 2 * (at + length) + 8) for at, length in struct.iter_unpack(">ii", index)]
    return bytearray(path.read_bytes()), places


@pytest.mark.parametrize(
    ("at", "value"),
    [
        pytest.param(0, 99, id="unknown type"),
        pytest.param(36, 2**31 - 1, id="parts without end"),
        pytest.param(40, 2**31 - 1, id="points without end"),
        pytest.param(40, -5, id="fewer than no points"),
        pytest.param(44, 500, id="a part behind the last point"),
    ],
)
@pytest.mark.parametrize("has_index", [True, False])
def test_a_damaged_shape_keeps_its_bytes(tmp_path: Path, at: int, value: int, has_index: bool) -> None:
    path = files.write_any(tmp_path, "shp", COUNT)
    data, places = shapes_of(path)
    start, end = places[3]
    struct.pack_into("<i", data, start + at, value)
    path.write_bytes(data)
    if not has_index:
        path.with_suffix(".shx").unlink()
    rows = files.rows_of(path, files.spec_for("shp"))
    assert len(rows) == COUNT
    assert rows[3]["geometry"] == bytes(data[start:end])
    assert all(shapely.from_wkb(row["geometry"]).is_valid for row in rows if row["id"] != 3)


def test_a_shape_that_is_empty_by_its_own_word_is_null(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp", COUNT)
    data, places = shapes_of(path)
    struct.pack_into("<i", data, places[3][0], 0)
    struct.pack_into("<ii", data, places[4][0] + 36, 0, 0)
    path.write_bytes(data)
    rows = files.rows_of(path, files.spec_for("shp"))
    assert [row["id"] for row in rows if row["geometry"] is None] == [3, 4]


@pytest.mark.parametrize("number", ["abc", "3,14", "0x1F", "?"])
def test_what_is_no_number_in_a_table_is_rescued(tmp_path: Path, number: str) -> None:
    """GDAL reads as far as it can, which is 0 for a word."""
    path = files.write_any(tmp_path, "shp", COUNT)
    table = path.with_suffix(".dbf")
    data = bytearray(table.read_bytes())
    start, length = struct.unpack_from("<HH", data, 8)
    # The first field behind the mark of deletion, 18 wide.
    data[start + 3 * length + 1 : start + 3 * length + 19] = number.rjust(18).encode()
    table.write_bytes(data)
    rows = files.rows_of(path, files.spec_for("shp"))
    assert [row["id"] for row in rows] == [0, 1, 2, None, 4, 5, 6, 7]
    assert [row["area"] for row in rows] == [number / 4 for number in range(COUNT)]
    assert [row["_rescued"] and json.loads(row["_rescued"]) for row in rows].count({"id": number}) == 1


def test_a_table_that_is_narrower_than_its_fields_is_left_to_gdal(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp", COUNT)
    table = path.with_suffix(".dbf")
    data = bytearray(table.read_bytes())
    for width in (0, 1, 40):
        struct.pack_into("<H", data, 10, width)
        table.write_bytes(data)
        try:
            files.rows_of(path, files.spec_for("shp"))
        except ReaderError as error:
            assert str(path) in str(error)


def test_a_deleted_row_of_a_table_is_none(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp", COUNT)
    table = path.with_suffix(".dbf")
    data = bytearray(table.read_bytes())
    start, length = struct.unpack_from("<HH", data, 8)
    data[start + 3 * length] = ord("*")
    table.write_bytes(data)
    rows = files.rows_of(path, files.spec_for("shp"))
    assert [row["_source_position"] for row in rows] == [f"feature {at}" for at in (0, 1, 2, 4, 5, 6, 7)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (b"", None),
        (b"G", b"G"),
        (b"garbage", b"garbage"),
        (POINT, POINT),
        (b"GP\0\x0f" + POINT, b"GP\0\x0f" + POINT),
        ("POINT (1 2)", b"POINT (1 2)"),
        (5, b"5"),
        # With a head that is one, the rest is GDAL's WKB, sound or not.
        (b"GP\0\1" + bytes(4) + POINT, POINT),
        (b"GP\0\1" + bytes(4) + POINT[:-3], POINT[:-3]),
        (b"GP\0\1" + bytes(4) + b"\xff" * 30, b"\xff" * 30),
    ],
)
def test_any_bytes_as_a_geometry_of_a_geopackage(
    tmp_path: Path, value: object, expected: bytes | None
) -> None:
    path = files.write_ogr(tmp_path / "town.gpkg", COUNT, layer='a "quoted" layer')
    with closing(sqlite3.connect(path)) as database, database:
        # They call functions that only GDAL has.
        for (name,) in database.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            database.execute(f'drop trigger "{name.replace(chr(34), chr(34) * 2)}"')
        database.execute('update "a ""quoted"" layer" set geom = ? where id = 3', [value])
    rows = files.rows_of(path, files.spec_for("gpkg"))
    assert len(rows) == COUNT
    assert rows[3]["geometry"] == expected
    assert all(row["geometry"] is not None for row in rows if row["id"] != 3)


@pytest.mark.parametrize(("lengths", "is_sound"), [((0, 4, 9), True), ((0, 9, 4), False), ((0, 0, 0), True)])
def test_batches_with_impossible_lengths_are_not_touched(lengths: tuple[int, ...], is_sound: bool) -> None:
    """As GDAL made one of a FlatGeobuf with a changed byte: Python failed on it, and worse could be."""
    buffers = [None, pa.py_buffer(struct.pack("<3i", *lengths)), pa.py_buffer(b"123456789")]
    column = pa.Array.from_buffers(pa.binary(), 2, buffers)
    assert ogr.is_sound(pa.RecordBatch.from_arrays([column], ["geometry"])) is is_sound


def test_a_zip_with_a_member_without_a_name(tmp_path: Path) -> None:
    path = files.zipped(files.write_any(tmp_path, "csv", COUNT))
    # Python's zipfile ends a name at NUL.
    path.write_bytes(path.read_bytes().replace(b"town.csv", b"\0own.csv"))
    assert len(files.rows_of(path, files.spec_for("csv"))) == COUNT


@pytest.mark.parametrize(
    "inner", ["[" * 20_000, "[" * 20_000 + "," * 20_000, "{" * 9_000 + "]" * 9_000 + "," * 9_000]
)
def test_a_deep_broken_feature_takes_no_more_time_than_others(tmp_path: Path, inner: str) -> None:
    path = tmp_path / "town.geojson"
    good = files.feature_texts(COUNT)
    broken = f'{{"type":"Feature","properties":{inner}'
    path.write_text(files.collection([*(text for feature in good for text in (broken, feature))]))
    began = time.process_time()
    assert len(files.rows_of(path, files.spec_for("geojson"))) == 2 * COUNT
    assert time.process_time() - began < 5


def test_a_shapefile_whose_index_points_behind_its_end_waits(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp", COUNT)
    index = bytearray(path.with_suffix(".shx").read_bytes())
    struct.pack_into(">i", index, 100 + 3 * 8, 1 << 20)
    path.with_suffix(".shx").write_bytes(index)
    with pytest.raises(HalfWritten, match="record 4 behind the end"):
        check(landed(path), files.spec_for("shp"))
