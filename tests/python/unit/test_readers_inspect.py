"""What `inspect` finds out about files that nobody has described."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reader_files as files
import shapely

from geostrata import demo
from geostrata.readers import Refused, SourceSpec, inspect


def text_file(tmp_path: Path, name: str, text: str | bytes) -> str:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("ending", sorted(files.FORMATS))
def test_every_format_is_found_and_can_be_read_as_found(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    facts = inspect([str(path)])
    assert facts.format == files.FORMATS[ending]
    assert facts.geometry == "geometry"
    assert facts.encoding == {"geojson": "geojson", "geojsonl": "geojson", "csv": "wkt", "jsonl": "wkt"}.get(
        ending, "wkb"
    )
    assert facts.crs == ("EPSG:2056" if ending in ("shp", "gpkg", "fgb", "parquet", "geojson") else None)
    assert facts.key == "id"
    assert facts.sampled_records == 20
    expected = {**files.spec_for(ending).columns}
    assert facts.columns == expected
    rows = files.rows_of(path, facts.spec("strict"))
    assert [row["_rescued"] for row in rows] == [None] * 20


@pytest.mark.parametrize("ending", ["geojson", "geojsonl", "jsonl", "csv"])
def test_packed_files(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    for packed in (files.gzipped(path), files.zipped(path)):
        assert inspect([str(packed)]).format == files.FORMATS[ending]


def test_the_name_may_be_wrong(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "parquet").rename(tmp_path / "town.csv")
    assert inspect([str(path)]).format == "geoparquet"


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("id;name\n1;a,b\n2;c,d,e\n", {"separator": ";"}),
        ("id\tname\n1\ta\n", {"separator": "\t"}),
        ("id|name\n1|a\n", {"separator": "|"}),
        ("id,name\n1,Zürich\n".encode("latin-1"), {"encoding": "latin-1"}),
        ("id,name\n1,“Zürich”\n".encode("cp1252"), {"encoding": "cp1252"}),
        ("id,name\n1,Zürich\n".encode("utf-16"), {}),
        ("id,name\n1,Zürich\n".encode("utf-16-le"), {"encoding": "utf-16-le"}),
        ("id,name\n1,Zürich\n".encode("utf-8-sig"), {}),
    ],
)
def test_options_of_csv(tmp_path: Path, data: str | bytes, options: dict[str, str]) -> None:
    facts = inspect([text_file(tmp_path, "a.csv", data)])
    assert (facts.format, facts.options) == ("csv", options)
    assert facts.columns == {"id": "bigint", "name": "string"}


def test_types_from_text(tmp_path: Path) -> None:
    text = (
        "n,x,big,flag,day,at,zip,mixed,empty\n"
        "1,1,12345678901234567890,true,2024-01-01,2024-01-01T00:00:00Z,01234,1,\n"
        "2,2.5,1,FALSE,2024-02-29,2024-01-01 00:00:00+02:00,12345,x,\n"
    )
    assert inspect([text_file(tmp_path, "a.csv", text)]).columns == {
        "n": "bigint",
        "x": "double",
        "big": "decimal(38,0)",
        "flag": "boolean",
        "day": "date",
        "at": "timestamp",
        "zip": "string",
        "mixed": "string",
        "empty": "string",
    }


def test_text_of_json_stays_text(tmp_path: Path) -> None:
    lines = '{"a":"1","b":1,"c":{"d":1},"at":"2024-01-01T00:00:00.123456789Z"}\n'
    columns = {"a": "string", "b": "bigint", "c": "string", "at": "string"}
    assert inspect([text_file(tmp_path, "a.jsonl", lines)]).columns == columns


@pytest.mark.parametrize(
    ("header", "pair"),
    [
        ("id,lon,lat", ("lon", "lat")),
        ("id,Longitude,Latitude", ("Longitude", "Latitude")),
        ("id,start_lng,start_lat", ("start_lng", "start_lat")),
        ("id,X,Y", ("X", "Y")),
        (
            "id,start station longitude,start station latitude",
            ("start station longitude", "start station latitude"),
        ),
    ],
)
def test_two_columns_of_coordinates(tmp_path: Path, header: str, pair: tuple[str, str]) -> None:
    facts = inspect([text_file(tmp_path, "a.csv", f"{header}\n1,7.5,47.1\n")])
    assert (facts.encoding, facts.lonlat, facts.geometry) == ("lonlat", pair, None)


def test_geometry_in_other_words(tmp_path: Path) -> None:
    point = shapely.set_srid(shapely.Point(1, 2), 2056)
    cases = {
        "hex": (shapely.to_wkb(point, hex=True, include_srid=True), "hex"),
        "wkt": (f"SRID=2056;{point.wkt}", "wkt"),
        "json": (json.dumps({"type": "Point", "coordinates": [1, 2]}), "geojson"),
    }
    for name, (text, encoding) in cases.items():
        facts = inspect([text_file(tmp_path, f"{name}.jsonl", json.dumps({"k": 1, "shape": text}) + "\n")])
        assert (facts.geometry, facts.encoding) == ("shape", encoding)
        assert facts.crs == (None if name == "json" else "EPSG:2056")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1], "g": [shapely.to_wkb(point, include_srid=True)]}), path)
    facts = inspect([str(path)])
    assert (facts.format, facts.geometry, facts.encoding, facts.crs) == ("parquet", "g", "ewkb", "EPSG:2056")


def test_keys(tmp_path: Path) -> None:
    rows = [{"value": n, "parcel_id": f"p{n}", "type": "x", "area": n / 3} for n in range(10)]
    first = "\n".join(json.dumps(row) for row in rows)
    # Newer versions of the same parcels: still a key.
    second = "\n".join(json.dumps({**row, "value": 5}) for row in rows)
    paths = [text_file(tmp_path, "1.jsonl", first), text_file(tmp_path, "2.jsonl", second)]
    facts = inspect(paths)
    assert (facts.key, facts.sampled_files, facts.sampled_records) == ("parcel_id", 2, 20)
    repeated = text_file(tmp_path, "3.jsonl", '{"id":1}\n{"id":1}\n')
    assert inspect([repeated]).key is None


def test_a_key_with_a_few_bad_rows_is_found_and_told(tmp_path: Path) -> None:
    ids = [*range(30), 7, None]
    text = "\n".join(json.dumps({"value": 1, "parcel_id": number}) for number in ids)
    facts = inspect([text_file(tmp_path, "a.jsonl", text)])
    assert facts.key == "parcel_id"
    assert facts.notes == ("parcel_id is nearly a key: 1 of 32 sampled rows lack it, 1 repeat it",)


def test_the_demo_town_is_read_row_by_row(tmp_path: Path) -> None:
    """Without being told anything: as many rows as its manifest says, bad ones among them."""
    landed_rows = {
        name: facts["landed"]
        for name, facts in demo.generate(tmp_path, scale=0.01, days=2)["entities"].items()
    }
    keys = {"parcels": "parcel_id", "telemetry": "event_id", "zones": "zone_id", "facilities": "facility_id"}
    found = dict.fromkeys(landed_rows, 0)
    for folder in {path.parent for path in tmp_path.rglob("*.*") if path.is_file()} - {tmp_path}:
        entity = folder.relative_to(tmp_path).parts[0]
        paths = sorted(str(path) for path in folder.iterdir())
        facts = inspect(paths)
        assert facts.key == keys[entity]
        assert facts.geometry or facts.lonlat
        found[entity] += sum(len(files.rows_of(Path(path), facts.spec())) for path in paths)
    assert found == landed_rows


def test_corrupt_records_are_told(tmp_path: Path) -> None:
    facts = inspect([text_file(tmp_path, "a.jsonl", '{"id":1}\n{broken\n')])
    assert (facts.sampled_records, facts.corrupt_records) == (2, 1)
    assert facts.notes


def test_files_of_two_formats(tmp_path: Path) -> None:
    paths = [str(files.write_any(tmp_path, ending)) for ending in ("csv", "jsonl")]
    with pytest.raises(Refused, match="a source has one format"):
        inspect(paths)


def test_layers(tmp_path: Path) -> None:
    path = files.write_ogr(tmp_path / "town.gpkg", layer="houses")
    files.write_ogr(path, layer="trees", append=True)
    with pytest.raises(Refused, match="set option layer"):
        inspect([str(path)])
    facts = inspect([str(path)], {"layer": "trees"})
    assert facts.spec() == SourceSpec("geopackage", files.COLUMNS, {"layer": "trees"})


KML = '<?xml version="1.0"?>\n<!-- made by hand -->\n<kml xmlns="x"><Document/></kml>'
TOPOLOGY = '{"type":"Topology","arcs":[],"objects":{"a":{"type":"Point","coordinates":[1,2]}}}'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"\x00\x01\x02\x03" * 50, "no format that is known"),
        (b'[{"a":1}]', "a JSON array"),
        (KML, r"it is XML \(kml\)"),
        ("<wfs:FeatureCollection>\n</wfs:FeatureCollection>", r"it is XML \(FeatureCollection\)"),
        (TOPOLOGY, "it is TopoJSON"),
        (json.dumps(json.loads(TOPOLOGY), indent=2), "it is TopoJSON"),
        (TOPOLOGY.replace("[]", str([[1, 2]] * 60_000), 1), "it is TopoJSON"),
        ('{\n "a": 1,\n "b": {"type": "Feature"}\n}', "one JSON object over several lines"),
        ('{\n "a": [\n' + '"x",\n' * 90_000 + '"y"]}', "one JSON object over several lines"),
        ("{% for place in places %}\n{{ place.kml }}\n", "no line is an object"),
    ],
)
def test_what_is_no_source(tmp_path: Path, data: bytes | str, words: str) -> None:
    for name in ("a.bin", "a.json"):
        path = text_file(tmp_path, name, data)
        with pytest.raises(Refused, match=words):
            inspect([path])


@pytest.mark.parametrize("kind", ["Feature", "FeatureCollection", "Polygon", "GeometryCollection"])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("points", [4, 60_000])
def test_geojson_of_one_object_laid_out_or_in_one_line(
    tmp_path: Path, kind: str, indent: int | None, points: int
) -> None:
    """By content, whatever the name: the head that is looked at may not reach the end."""
    geometry: dict[str, object] = {
        "type": "Polygon",
        "coordinates": [[[number, 1] for number in range(points)]],
    }
    if kind == "GeometryCollection":
        geometry = {"type": kind, "geometries": [geometry]}
    feature = {"type": "Feature", "geometry": geometry, "properties": {"a": 1}}
    whole = {"Feature": feature, "FeatureCollection": {"type": kind, "features": [feature]}}.get(
        kind, geometry
    )
    path = text_file(tmp_path, "a.json", json.dumps(whole, indent=indent))
    facts = inspect([path])
    assert facts.format in ("geojson", "geojsonl")
    assert (facts.sampled_records, facts.corrupt_records, facts.encoding) == (1, 0, "geojson")
    assert len(files.rows_of(Path(path), facts.spec())) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"id":1\n{"id":2}\n', "jsonl"),
        ('{"type":"Feature","geometry":nul\n{"type":"Feature","geometry":null}\n', "geojsonl"),
        ('{"type":"Point","coordinates":[1,2]}\n{"type":"Point","coordinates":[1,2]}\n', "geojsonl"),
        ('{"type":"Point","name":"a"}\n{"type":"Point","name":"b"}\n', "jsonl"),
        ('{"id":1}\n', "jsonl"),
    ],
)
def test_lines_stay_lines(tmp_path: Path, text: str, found: str) -> None:
    facts = inspect([text_file(tmp_path, "a.json", text)])
    assert (facts.format, facts.sampled_records) == (found, text.count("\n"))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"a.gdb/a0001.gdbtable": b"x", "a.gdb/a0001.gdbtablx": b"y"}, "it is a file geodatabase"),
        ({"notes": b"x", "more": b"y"}, "it holds notes, more"),
        ({}, "it holds none"),
        ({"a.txt": b""}, "it is empty"),
        ({"doc.kml": KML.encode()}, r"it is XML \(kml\)"),
        (
            {"a.csv": b"id\n1\n", "b.csv": b"id\n1\n"},
            "one file of a format that is read, it holds a.csv, b.csv",
        ),
    ],
)
def test_a_zip_of_something_else(tmp_path: Path, members: dict[str, bytes], words: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(Refused, match=words):
        inspect([str(path)])


def test_a_zip_with_papers_beside_the_data(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("LICENCE.pdf", b"%PDF")
        archive.writestr("a.csv", b"id\n1\n")
    assert inspect([str(path)]).columns == {"id": "bigint"}


@pytest.mark.parametrize("pack", [files.gzipped, files.zipped])
def test_packed_parquet_is_told_to_come_plain(tmp_path: Path, pack: Callable[..., Path]) -> None:
    with pytest.raises(Refused, match=r"Parquet in a (zip|gzip); deliver it as it is"):
        inspect([str(pack(files.write_any(tmp_path, "parquet")))])


@pytest.mark.parametrize("ending", ["shp", "gpkg", "fgb"])
def test_what_gdal_reads_in_gzip_is_told_to_come_in_a_zip(tmp_path: Path, ending: str) -> None:
    with pytest.raises(Refused, match="in gzip; deliver it plain or in a zip"):
        inspect([str(files.gzipped(files.write_any(tmp_path, ending)))])


@pytest.mark.parametrize(
    "text",
    [
        "TIN Z (((0 0 1,0 1 1,1 0 1,0 0 1)))",
        "CIRCULARSTRING (0 0,1 1,2 0)",
        "CURVEPOLYGON ((0 0,1 1,1 0,0 0))",
    ],
)
def test_geometries_that_few_can_read_are_still_geometries(tmp_path: Path, text: str) -> None:
    assert inspect([text_file(tmp_path, "a.csv", f'id,shape\n1,"{text}"\n')]).encoding == "wkt"


def test_the_look_is_bounded(tmp_path: Path) -> None:
    lines = "".join(f'{{"id":{number}}}\n' for number in range(12_000))
    assert inspect([text_file(tmp_path, "a.jsonl", lines)]).sampled_records == 10_000
