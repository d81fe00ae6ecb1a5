"""Every format gives back what was written, plain and packed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import reader_files as files
import shapely
from pyogrio.raw import write

from geostrata.errors import GeostrataError
from geostrata.readers import (
    LandedFile,
    Refused,
    SourceSpec,
    check,
    inspect,
    landed,
    output_schema,
    read,
    shapefile,
)

COUNT = 20
BINARY = ("shp", "gpkg", "fgb", "parquet")
TEXT = ("geojson", "geojsonl", "jsonl", "csv")


def shape_of(value: Any) -> Any:
    if isinstance(value, bytes):
        return shapely.from_wkb(value)
    return shapely.from_geojson(value) if value.startswith("{") else shapely.from_wkt(value)


def assert_whole(rows: list[dict[str, Any]]) -> None:
    assert sorted(row["id"] for row in rows) == list(range(COUNT))
    expected = files.shapes(COUNT)
    for row in rows:
        assert row["name"] == f"Straße {row['id']}"
        assert row["area"] == row["id"] / 4
        assert shapely.equals_exact(
            shapely.normalize(shape_of(row["geometry"])), shapely.normalize(expected[row["id"]]), 1e-9
        )
        assert row["_corrupt_record"] is None
        assert row["_rescued"] is None


@pytest.mark.parametrize("ending", BINARY + TEXT)
def test_rows_come_back_as_written(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    spec = files.spec_for(ending)
    check(landed(path), spec)
    rows = files.rows_of(path, spec)
    assert_whole(rows)
    has_crs = ending in (*BINARY, "geojson")
    assert {row["_source_crs"] for row in rows} == {"EPSG:2056" if has_crs else None}
    assert len({row["_source_position"] for row in rows}) == COUNT


@pytest.mark.parametrize("ending", TEXT)
def test_gzip_and_zip_of_text(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    for packed in (files.gzipped(path), files.zipped(path)):
        check(landed(packed), files.spec_for(ending))
        assert_whole(files.rows_of(packed, files.spec_for(ending)))


@pytest.mark.parametrize("ending", ["shp", "gpkg", "fgb"])
def test_zip_of_what_gdal_reads(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    others = [other for other in sorted(tmp_path.iterdir()) if other != path]
    packed = files.zipped(path, *others)
    rows = files.rows_of(packed, files.spec_for(ending))
    assert_whole(rows)
    assert rows[0]["_source_crs"] == "EPSG:2056"


@pytest.mark.parametrize("ending", BINARY + TEXT)
def test_batches_have_the_declared_schema(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    spec = files.spec_for(ending)
    for batch in read(landed(path), spec):
        assert batch.schema.equals(output_schema(spec))
        batch.validate(full=True)


@pytest.mark.parametrize("ending", BINARY + TEXT)
def test_an_empty_file_has_no_rows(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"town.{ending}"
    path.touch()
    check(landed(path), files.spec_for(ending))
    assert files.rows_of(path, files.spec_for(ending)) == []


@pytest.mark.parametrize("ending", BINARY)
def test_a_file_with_a_header_only_has_no_rows(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending, count=0)
    assert files.rows_of(path, files.spec_for(ending)) == []


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("csv", "id,name,area,geometry\n"),
        ("geojson", '{"type":"FeatureCollection","features":[]}'),
        ("jsonl", "\n \r\n"),
    ],
)
def test_text_with_a_header_only_has_no_rows(tmp_path: Path, ending: str, text: str) -> None:
    path = tmp_path / f"town.{ending}"
    path.write_text(text)
    for policy in ("strict", "rescue"):
        assert files.rows_of(path, files.spec_for(ending, schema_policy=policy)) == []


def test_a_file_uri_is_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    path = files.write_any(folder, "csv")
    state = landed(path)
    uri = LandedFile(path.as_uri().replace("file://", "file:"), state.size, state.modified_ms)
    assert "%20" in uri.path
    assert sum(batch.num_rows for batch in read(uri, files.spec_for("csv"))) == COUNT


def test_nothing_is_written_beside_a_landed_file(tmp_path: Path) -> None:
    for ending in ("shp", "gpkg", "fgb"):
        path = files.write_any(tmp_path, ending)
        if ending == "shp":
            path.with_suffix(".shx").unlink()
    before = sorted(tmp_path.iterdir())
    for ending in ("shp", "gpkg", "fgb"):
        assert_whole(files.rows_of(tmp_path / f"town.{ending}", files.spec_for(ending)))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("ending", ["shp", "gpkg", "fgb"])
def test_gdal_leaves_landed_files_as_they_are(tmp_path: Path, ending: str) -> None:
    """Told to make a missing .shx, it writes those that are there anew."""
    path = files.write_any(tmp_path, ending)
    for part in tmp_path.iterdir():
        os.utime(part, (1, 1))
    before = {part: (part.read_bytes(), part.stat().st_mtime_ns) for part in tmp_path.iterdir()}
    check(landed(path), files.spec_for(ending))
    assert_whole(files.rows_of(path, files.spec_for(ending)))
    assert {part: (part.read_bytes(), part.stat().st_mtime_ns) for part in tmp_path.iterdir()} == before


def test_a_geopackage_in_wal_mode_gets_nothing_beside_it(tmp_path: Path) -> None:
    """As QGIS leaves it. SQLite would make a -wal and a -shm to read it."""
    path = files.write_any(tmp_path, "gpkg")
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma journal_mode = wal")
    assert path.read_bytes()[18:20] == b"\2\2"
    for work in (lambda: inspect([str(path)]), lambda: check(landed(path), files.spec_for("gpkg"))):
        work()
        assert list(tmp_path.iterdir()) == [path]
    assert_whole(files.rows_of(path, files.spec_for("gpkg")))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("registered", "expected"),
    [
        ("features", ["town"]),
        ("tiles", ["town"]),
        ("attributes", ["town", "notes"]),
        (None, ["town", "notes"]),
    ],
)
def test_layers_are_those_of_gdal(tmp_path: Path, registered: str | None, expected: list[str]) -> None:
    path = files.write_any(tmp_path, "gpkg")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table notes (fid integer primary key, note text)")
        if registered:
            database.execute(
                "insert into gpkg_contents (table_name, data_type) values ('notes', ?)", [registered]
            )
    assert [str(name) for name, _ in pyogrio.list_layers(path)] == expected
    if len(expected) > 1:
        with pytest.raises(Refused, match=f"2 layers; set option layer to one of: {', '.join(expected)}"):
            check(landed(path), files.spec_for("gpkg"))
    else:
        assert_whole(files.rows_of(path, files.spec_for("gpkg")))
    for layer in expected:
        assert inspect([str(path)], {"layer": layer}).options == {"layer": layer}


def test_the_index_that_we_make_is_the_one_that_was_there(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp")
    index = path.with_suffix(".shx").read_bytes()
    path.with_suffix(".shx").unlink()
    folder = tmp_path / "made"
    folder.mkdir()
    plan = shapefile.prepare(landed(path), files.spec_for("shp"), folder)
    assert Path(plan.source).with_suffix(".shx").read_bytes() == index


@pytest.mark.parametrize("ending", BINARY + TEXT)
def test_any_name_of_a_file_and_its_folder(tmp_path: Path, ending: str) -> None:
    """Some are more than names to GDAL: an archive's content stands behind a `!`."""
    source = tmp_path / "source"
    source.mkdir()
    written = files.write_any(source, ending)
    for name in ("a!b", "a.zip", "50% (ü), #1?", "a b'\"c", "[x]*", "vsizip"):
        folder = tmp_path / name
        folder.mkdir()
        for part in source.iterdir():
            shutil.copy(part, folder / f"{name}{part.suffix}")
        path = folder / f"{name}{written.suffix}"
        check(landed(path), files.spec_for(ending))
        assert_whole(files.rows_of(path, files.spec_for(ending)))
        assert inspect([str(path)]).format == files.FORMATS[ending]


def points(path: Path, names: list[str], driver: str, **more: Any) -> Path:
    """Three points with columns of 7, 8 and 9."""
    write(
        str(path),
        shapely.to_wkb(shapely.points([[0, 0], [1, 1], [2, 2]])),
        [np.array([7, 8, 9])] * len(names),
        names,
        crs="EPSG:4326",
        geometry_type="Point",
        driver=driver,
        **more,
    )
    return path


@pytest.mark.parametrize("ending", files.OGR_DRIVERS)
def test_columns_with_the_names_that_gdal_uses_itself(tmp_path: Path, ending: str) -> None:
    names = ["OGC_FID", "geometry", "geom", "wkb_geom"]
    if ending == "gpkg":
        names.remove("geom")
    path = points(tmp_path / f"odd.{ending}", names, files.OGR_DRIVERS[ending])
    columns = {name if name != "geometry" else "properties.geometry": "bigint" for name in names}
    facts = inspect([str(path)])
    assert facts.columns == {**columns, "geometry": "binary"}
    for row in files.rows_of(path, facts.spec("strict")):
        number = int(shapely.from_wkb(row["geometry"]).x) + 7
        assert [row[name] for name in columns] == [number] * len(columns)


def test_the_key_of_a_geopackage_is_a_column_if_it_is_declared(tmp_path: Path) -> None:
    path = points(tmp_path / "keyed.gpkg", ["a"], "GPKG", layer_options={"FID": "parcel_id"})
    facts = inspect([str(path)])
    assert (facts.key, list(facts.columns)) == ("parcel_id", ["parcel_id", "a", "geometry"])
    rows = files.rows_of(path, facts.spec("strict"))
    assert [(row["parcel_id"], row["a"]) for row in rows] == [(1, 7), (2, 8), (3, 9)]
    # Not declared, it is no new column: every GeoPackage has one.
    strict = SourceSpec("geopackage", {"a": "bigint", "geometry": "binary"}, schema_policy="strict")
    assert [row["_source_position"] for row in files.rows_of(path, strict)] == [
        "feature 1",
        "feature 2",
        "feature 3",
    ]
    # GDAL's own name says nothing of the data, and is not proposed.
    assert "fid" not in inspect([str(points(tmp_path / "plain.gpkg", ["a"], "GPKG"))]).columns


def test_a_table_of_keys_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys.gpkg"
    write(str(path), None, [np.arange(1, 4)], ["fid"], driver="GPKG", crs=None, geometry_type=None)
    assert inspect([str(path)]).columns == {}
    assert len(files.rows_of(path, SourceSpec("geopackage", {}))) == 3
    assert [row["fid"] for row in files.rows_of(path, SourceSpec("geopackage", {"fid": "int"}))] == [1, 2, 3]


@pytest.mark.parametrize("encoding", ["latin-1", "iso-8859-1", "cp1252", "Windows-1252", "latin1"])
def test_the_encoding_of_a_shapefile_by_any_of_its_names(tmp_path: Path, encoding: str) -> None:
    path = latin_shapefile(tmp_path)
    spec = files.spec_for("shp", options={"encoding": encoding})
    assert [row["name"] for row in files.rows_of(path, spec)] == [
        f"Straße {number}" for number in range(COUNT)
    ]


def test_an_encoding_of_a_shapefile_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(GeostrataError, match="option encoding must name a text encoding, got 'klingon'"):
        check(landed(latin_shapefile(tmp_path)), files.spec_for("shp", options={"encoding": "klingon"}))


def test_the_encoding_of_a_shapefile_that_does_not_say_it_is_guessed(tmp_path: Path) -> None:
    path = latin_shapefile(tmp_path)
    facts = inspect([str(path)])
    assert facts.options == {"encoding": "latin-1"}
    assert files.rows_of(path, facts.spec())[3]["name"] == "Straße 3"
    # The bytes are kept if nobody sets the option.
    row = files.rows_of(path, files.spec_for("shp"))[3]
    assert (row["name"], json.loads(row["_rescued"])) == (None, {"name": "Stra\udcdfe 3"})


def latin_shapefile(folder: Path) -> Path:
    """As old programs write it: neither a .cpg nor the table says the encoding."""
    path = files.write_any(folder, "shp")
    path.with_suffix(".cpg").unlink()
    table = path.with_suffix(".dbf")
    data = bytearray(table.read_bytes().replace("ß".encode(), b"\xdf", -1))
    # One byte less a row: rows are put back to their length.
    start, length = int.from_bytes(data[8:10], "little"), int.from_bytes(data[10:12], "little")
    rows = [bytes(data[at : at + length - 1]) for at in range(start, len(data) - 1, length - 1)][:COUNT]
    table.write_bytes(
        bytes(data[:29]) + b"\0" + bytes(data[30:start]) + b"".join(_padded(row) for row in rows)
    )
    return path


def _padded(row: bytes) -> bytes:
    cut = row.index(b"\xdf") + len(b"\xdfe 12")
    return row[:cut] + b" " + row[cut:]


def test_a_shapefile_without_prj_and_cpg_says_nothing_of_its_crs(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp")
    path.with_suffix(".prj").unlink()
    path.with_suffix(".cpg").unlink()
    rows = files.rows_of(path, files.spec_for("shp", options={"encoding": "UTF-8"}))
    assert_whole(rows)
    assert rows[0]["_source_crs"] is None


def test_long_numbers_of_a_shapefile_are_exact(tmp_path: Path) -> None:
    """GDAL reads them as doubles."""
    path = tmp_path / "long.shp"
    numbers = np.array([2**62 + 1, -(2**62) - 1, 5])
    shapes = shapely.to_wkb(shapely.points(np.zeros((3, 2))))
    write(
        str(path),
        shapes,
        [numbers, np.array([0.125, 2.5, np.nan])],
        ["long", "part"],
        crs="EPSG:4326",
        geometry_type="Point",
        driver="ESRI Shapefile",
    )
    for policy in ("additive", "rescue"):
        columns = {"LONG": "bigint", "part": "double", "geometry": "binary"}
        rows = files.rows_of(path, SourceSpec("shapefile", columns, schema_policy=policy))
        assert [row["LONG"] for row in rows] == numbers.tolist()
        assert [row["part"] for row in rows] == [0.125, 2.5, None]
    rows = files.rows_of(path, SourceSpec("shapefile", {"long": "double", "part": "decimal(20,15)"}))
    assert [row["long"] for row in rows] == [None, None, 5.0]
    assert '"4611686018427387905"' in rows[0]["_rescued"]
    assert [row["part"] and float(row["part"]) for row in rows] == [0.125, 2.5, None]
    assert inspect([str(path)]).columns == {"long": "bigint", "part": "double", "geometry": "binary"}


def test_a_prj_in_an_old_encoding(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp")
    prj = path.with_suffix(".prj")
    old = prj.read_text().replace("CH1903+_LV95", "Système").encode("latin-1")
    prj.write_bytes(old)
    assert "Système" in files.rows_of(path, files.spec_for("shp"))[0]["_source_crs"]
    assert prj.read_bytes() == old


def test_a_shapefile_of_shapes_alone_is_read_if_nothing_else_is_declared(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp")
    path.with_suffix(".dbf").unlink()
    rows = files.rows_of(path, SourceSpec("shapefile", {"geometry": "binary"}))
    assert len(rows) == COUNT
    assert rows[3]["geometry"] is not None


def test_a_geopackage_with_several_layers_wants_one_named(tmp_path: Path) -> None:
    path = files.write_ogr(tmp_path / "town.gpkg", layer="houses")
    files.write_ogr(path, layer="trees", append=True)
    with pytest.raises(Refused, match=r"2 layers; set option layer to one of: houses, trees"):
        check(landed(path), files.spec_for("gpkg"))
    with pytest.raises(Refused, match="layer roads is not in it"):
        check(landed(path), files.spec_for("gpkg", options={"layer": "roads"}))
    assert_whole(files.rows_of(path, files.spec_for("gpkg", options={"layer": "trees"})))


def test_an_attribute_table_without_geometry(tmp_path: Path) -> None:
    path = tmp_path / "town.gpkg"
    write(str(path), None, [np.arange(3)], ["id"], driver="GPKG", layer="plain", crs=None, geometry_type=None)
    assert [row["id"] for row in files.rows_of(path, SourceSpec("geopackage", {"id": "bigint"}))] == [0, 1, 2]


@pytest.mark.parametrize(
    ("crs", "expected"),
    [("absent", "OGC:CRS84"), (None, None), ("EPSG:4326", "EPSG:4326"), ("EPSG:2056", "EPSG:2056")],
)
def test_the_crs_of_geoparquet(tmp_path: Path, crs: str | None, expected: str | None) -> None:
    path = files.write_geoparquet(tmp_path / "town.parquet", crs=crs)
    assert {row["_source_crs"] for row in files.rows_of(path, files.spec_for("parquet"))} == {expected}


def test_a_crs_without_a_code_stays_projjson(tmp_path: Path) -> None:
    path = files.write_geoparquet(
        tmp_path / "town.parquet", crs="+proj=tmerc +lat_0=1 +lon_0=2 +ellps=bessel"
    )
    crs = files.rows_of(path, files.spec_for("parquet"))[0]["_source_crs"]
    assert json.loads(crs)["type"] == "ProjectedCRS"


def test_positions_in_parquet_name_the_row_group(tmp_path: Path) -> None:
    path = files.write_geoparquet(tmp_path / "town.parquet", row_group_size=8)
    positions = [row["_source_position"] for row in files.rows_of(path, files.spec_for("parquet"))]
    assert positions[0] == "row group 0, row 0"
    assert positions[10] == "row group 1, row 2"
    assert positions[-1] == "row group 2, row 3"


def test_parquet_with_odd_arrow_types(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    when = pa.array(
        [1_700_000_000_000_000_000, 1_700_000_000_000_000_001, None], pa.timestamp("ns", tz="Europe/Zurich")
    )
    table = pa.table(
        {
            "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
            "when": when,
            "large": pa.array([1, 2**64 - 1, None], pa.uint64()),
            "price": pa.array(["1.10", "99999999.99", None]).cast(pa.decimal128(12, 2)),
            "tags": pa.array([["x"], [], None]),
            "text": pa.array([b"ok", b"\xff\xfe", None]).cast(pa.binary()).view(pa.string()),
        }
    )
    pq.write_table(table, path)
    columns = {
        "kind": "string",
        "when": "timestamp",
        "large": "bigint",
        "price": "decimal(6,2)",
        "tags": "array<string>",
        "text": "string",
    }
    first, second, third = files.rows_of(path, SourceSpec("parquet", columns))
    assert (first["kind"], first["large"], str(first["price"]), first["tags"]) == ("a", 1, "1.10", '["x"]')
    assert first["when"].isoformat() == "2023-11-14T22:13:20+00:00"
    assert first["_rescued"] is None
    assert [second[name] for name in ("when", "large", "price", "text")] == [None] * 4
    assert json.loads(second["_rescued"], parse_float=str) == {
        "when": "2023-11-14 22:13:20.000000001Z",
        "large": 2**64 - 1,
        "price": "99999999.99",
        "text": "\udcff\udcfe",
    }
    assert all(third[name] is None for name in columns if name != "kind")


def test_date_times_of_gdal_keep_their_zone(tmp_path: Path) -> None:
    """GDAL's Arrow stream has one zone a column; text keeps each row's own."""
    path = tmp_path / "when.gpkg"
    moments = np.array(["2024-01-01T00:00:00.250", "2024-06-01T12:00:00"], dtype="datetime64[ms]")
    write(
        str(path),
        shapely.to_wkb(shapely.points([[0, 0], [1, 1]])),
        [moments],
        ["when"],
        crs="EPSG:4326",
        geometry_type="Point",
        driver="GPKG",
        gdal_tz_offsets={"when": np.array([100 + 8, 100 - 4])},
    )
    rows = files.rows_of(path, SourceSpec("geopackage", {"when": "timestamp"}, schema_policy="additive"))
    assert [row["when"].isoformat() for row in rows] == [
        "2023-12-31T22:00:00.250000+00:00",
        "2024-06-01T13:00:00+00:00",
    ]
