"""GeoJSON and JSON lines as they come in real life."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import reader_files as files

from geostrata.readers import HalfWritten, Refused, SourceSpec, check, landed

COLUMNS = {"a": "string", "n": "bigint", "x": "double", "geometry": "string"}
POINT = '{ "type":"Point", "coordinates": [1.10, 2e0] }'


def read_text(
    tmp_path: Path, kind: str, text: str | bytes, columns: dict[str, str] | None = None, **more: Any
) -> list[dict[str, Any]]:
    path = tmp_path / f"file.{kind}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return files.rows_of(path, SourceSpec(kind, columns or COLUMNS, **more))


def feature(properties: str, geometry: str = POINT, more: str = "") -> str:
    return f'{{"type":"Feature","properties":{properties},"geometry":{geometry}{more}}}'


def line(tmp_path: Path, text: str, columns: dict[str, str] | None = None) -> dict[str, Any]:
    (row,) = read_text(tmp_path, "jsonl", text, columns)
    return row


def test_the_geometry_is_the_exact_text_of_the_source(tmp_path: Path) -> None:
    nested = (
        '{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0.10,1]}], "note":"}\\""}'
    )
    features = [feature("{}", POINT), feature("{}", nested), feature("{}", "null")]
    rows = read_text(tmp_path, "geojson", files.collection(features))
    assert [row["geometry"] for row in rows] == [POINT, nested, None]
    rows = read_text(tmp_path, "geojsonl", "\n".join(features))
    assert [row["geometry"] for row in rows] == [POINT, nested, None]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.5", "1.5"),
        ("1e400", "1e400"),
        ("9" * 5000, "9" * 5000),
        ('"seven"', '"seven"'),
        ("NaN", '"NaN"'),
        ("-Infinity", '"-Infinity"'),
        ("true", "true"),
        ('{"b":[1.10,null]}', '{"b":[1.10,null]}'),
        ('"\\ud800"', '"\\ud800"'),
    ],
    ids=lambda text: text[:20],
)
def test_what_does_not_fit_is_rescued_exactly(tmp_path: Path, value: str, kept: str) -> None:
    row = line(tmp_path, f'{{"n":{value},"a":"ok"}}')
    assert row["n"] is None
    assert row["a"] == "ok"
    assert row["_rescued"] == f'{{"n":{kept}}}'


def test_numbers_that_fit_in_another_way_of_writing(tmp_path: Path) -> None:
    texts = [
        '{"n":1e3,"x":1}',
        '{"n":"7","x":"2.5"}',
        '{"n":5.0,"x":NaN}',
        '{"n":-9223372036854775808,"x":-0.0}',
    ]
    rows = read_text(tmp_path, "jsonl", "\n".join(texts))
    assert [row["n"] for row in rows] == [1000, 7, 5, -(2**63)]
    assert [str(row["x"]) for row in rows] == ["1.0", "2.5", "nan", "-0.0"]


def test_text_columns_take_any_value_as_it_was_written(tmp_path: Path) -> None:
    texts = [
        '{"a":1.10}',
        '{"a":{"k":[1.10,"ü"]}}',
        '{"a":false}',
        '{"a":12345678901234567890123}',
        '{"a":"\\u0000"}',
    ]
    rows = read_text(tmp_path, "jsonl", "\n".join(texts))
    assert [row["a"] for row in rows] == [
        "1.10",
        '{"k":[1.10,"ü"]}',
        "false",
        "12345678901234567890123",
        "\0",
    ]


def test_repeated_keys_are_all_kept(tmp_path: Path) -> None:
    row = line(tmp_path, '{"n":1,"n":2,"n":3,"extra":{"b":1,"b":2}}')
    assert row["n"] == 3
    assert json.loads(row["_rescued"]) == {"n#1": 1, "n#2": 2, "extra": {"b#1": 1, "b": 2}}


def test_another_spelling_of_a_column_is_that_column(tmp_path: Path) -> None:
    assert line(tmp_path, '{"N":1}')["n"] == 1
    row = line(tmp_path, '{"N":1,"n":2}')
    assert row["n"] == 2
    assert row["_rescued"] == '{"N":1}'


def test_every_line_that_is_not_blank_is_a_row(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{"n":1}\r\n\r\n  \n{"n":2}\r{"n":3}\n{broken\n[1]\nnull\n"x"\n{"n":4} tail\n{"n":5}'
    rows = read_text(tmp_path, "jsonl", text)
    assert [row["n"] for row in rows] == [1, 2, 3, None, None, None, None, None, 5]
    assert [row["_corrupt_record"] for row in rows][3:8] == ["{broken", "[1]", "null", '"x"', '{"n":4} tail']
    assert [row["_source_position"] for row in rows][:4] == ["line 1", "line 4", "line 5", "line 6"]


def test_bytes_that_are_no_text_spoil_their_value_only(tmp_path: Path) -> None:
    rows = read_text(tmp_path, "jsonl", b'{"a":"caf\xe9","n":1}\n{"a":"\x00","n":2}\n\xff\xfe\x00\n')
    assert rows[0]["n"] == 1
    assert rows[0]["a"] is None
    assert json.loads(rows[0]["_rescued"])["a"].encode("utf-8", "surrogateescape") == b"caf\xe9"
    assert rows[1]["a"] == "\0"
    assert rows[2]["_corrupt_record"] == "\\xff\\xfe\x00"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    options = {} if encoding in ("utf-8-sig", "utf-16", "utf-32") else {"encoding": encoding}
    text = feature('{"a":"Zürich"}')
    rows = read_text(
        tmp_path, "geojson", files.collection([text], "EPSG:2056").encode(encoding), options=options
    )
    assert [(row["a"], row["geometry"], row["_source_crs"]) for row in rows] == [
        ("Zürich", POINT, "EPSG:2056")
    ]
    rows = read_text(tmp_path, "jsonl", '{"a":"ü"}\n{"a":"é"}'.encode(encoding), options=options)
    assert [row["a"] for row in rows] == ["ü", "é"]


def test_a_line_of_ten_megabytes(tmp_path: Path) -> None:
    long = "x" * 10_000_000
    rows = read_text(tmp_path, "jsonl", f'{{"a":"{long}"}}\n{{"a":"{long}\n{{"a":"next"}}\n')
    assert rows[0]["a"] == long
    assert len(rows[1]["_corrupt_record"]) == len(long) + 6
    assert rows[2]["a"] == "next"


def test_deep_nesting_is_a_corrupt_record(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    rows = read_text(tmp_path, "jsonl", f'{{"n":{deep}}}\n{{"n":1}}')
    assert rows[0]["_corrupt_record"].startswith('{"n":[[[')
    assert rows[1]["n"] == 1
    rows = read_text(tmp_path, "geojson", files.collection([feature(f'{{"n":{deep}}}'), feature('{"n":1}')]))
    assert rows[0]["_corrupt_record"].startswith('{"type":"Feature"')
    assert rows[1]["n"] == 1


def test_records_with_a_separator_in_front(tmp_path: Path) -> None:
    pretty = json.dumps(json.loads(feature('{"n":1}')), indent=1)
    second, third = feature('{"n":2}'), feature('{"n":3}')
    text = f"\x1e{pretty}\n\x1e{second}\n\x1e{{broken\n{third}\n"
    rows = read_text(tmp_path, "geojsonl", text)
    assert [row["n"] for row in rows] == [1, 2, None, 3]
    assert rows[2]["_corrupt_record"] == "{broken"


def test_members_of_a_feature(tmp_path: Path) -> None:
    text = feature('{"n":1,"geometry":"mine","id":"inner"}', more=',"id":"outer","bbox":[0,0,1,1],"zoo":null')
    (row,) = read_text(tmp_path, "geojson", files.collection([text]))
    assert row["geometry"] == POINT
    assert json.loads(row["_rescued"]) == {
        "properties.geometry": "mine",
        "id": "inner",
        "feature.id": "outer",
        "bbox": [0, 0, 1, 1],
    }
    (row,) = read_text(
        tmp_path, "geojson", files.collection([feature("{}", more=',"id":"outer"')]), {"id": "string"}
    )
    assert row["id"] == "outer"


@pytest.mark.parametrize(
    "text", [feature('{"n":1}'), "[" + feature('{"n":1}') + "]", files.collection([feature('{"n":1}')])]
)
def test_a_feature_alone_and_an_array(tmp_path: Path, text: str) -> None:
    (row,) = read_text(tmp_path, "geojson", text)
    assert (row["n"], row["geometry"]) == (1, POINT)


def test_a_feature_alone_without_its_type(tmp_path: Path) -> None:
    (row,) = read_text(tmp_path, "geojson", f'{{"geometry":{POINT}}}')
    assert row["geometry"] == POINT


def test_a_geometry_alone(tmp_path: Path) -> None:
    (row,) = read_text(tmp_path, "geojson", f" {POINT}\n")
    assert row["geometry"] == POINT


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ('{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}', "OGC:CRS84"),
        ('{"type":"name","properties":{"name":"EPSG:2056"}}', "EPSG:2056"),
        ('{"type":"EPSG","properties":{"code":2056}}', "EPSG:2056"),
        ('{"type":"link","properties":{"href":"x"}}', '{"type":"link","properties":{"href":"x"}}'),
        ("null", None),
    ],
)
def test_the_crs_member_in_front_and_behind(tmp_path: Path, member: str, expected: str | None) -> None:
    front = f'{{"type":"FeatureCollection","crs":{member},"features":[{feature("{}")}]}}'
    behind = f'{{"features":[{feature("{}")}],"name":"x","crs":{member},"type":"FeatureCollection"}}'
    for text in (front, behind):
        assert [row["_source_crs"] for row in read_text(tmp_path, "geojson", text)] == [expected]


def test_a_column_named_crs_is_not_the_crs_of_the_file(tmp_path: Path) -> None:
    last = '{"type":"Feature","geometry":null,"properties":{"crs":"EPSG:2056"}}'
    for text in (files.collection([last]), f"[{last}]", files.collection([last])[:-3] + '],"name":"x"}'):
        (row,) = read_text(tmp_path, "geojson", text, {"crs": "string"})
        assert (row["crs"], row["_source_crs"]) == ("EPSG:2056", None)


def test_a_crs_out_of_sight_is_refused_before_it_is_guessed(tmp_path: Path) -> None:
    crs = '{"type":"name","properties":{"name":"EPSG:2056"}}'
    text = f'{{"features":[{feature("{}")}],"crs":{crs},"filler":"{"x" * 100_000}"}}'
    with pytest.raises(Refused, match="crs stands far behind"):
        read_text(tmp_path, "geojson", text)


@pytest.mark.parametrize(
    "broken",
    [
        '{"type":"Feature","properties":{"n":1,,},"geometry":null}',
        '{"type":"Feature","properties":{"n":[1},"geometry":null}',
        '{"type":"Feature","properties":{"a":"an " quote"},"geometry":null}',
        '{"type":"Feature","properties":{"a":"no end},"geometry":null}',
        '{"type":"Feature","properties":{"n":1',
        '{"type":"Feature" "properties":{}}',
        '{"type":"Feature","properties":{"n":1]},"geometry":null}',
        '{"type":"Feature","properties":{"n":]]]1},"geometry":null',
        "nonsense",
        "7",
        '"text, and more"',
        '{"no":"feature"}',
        '{"type":{"name":"Feature"}}',
        '{"type":["Point"],"coordinates":[1,2]}',
        "[1,2]",
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_broken_feature_costs_itself_only(tmp_path: Path, broken: str, place: int) -> None:
    features = [feature(f'{{"n":{number}}}') for number in (1, 2)]
    features.insert(place, broken)
    rows = read_text(tmp_path, "geojson", files.collection(features))
    assert [row["n"] for row in rows if row["_corrupt_record"] is None] == [1, 2]
    assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"]] == [broken]


def test_a_missing_comma_between_features(tmp_path: Path) -> None:
    text = files.collection([feature('{"n":1}') + feature('{"n":2}')])
    assert [row["n"] for row in read_text(tmp_path, "geojson", text)] == [1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,name\n1,2\n", "begins with"),
        ('{"type":"Topology","objects":{}}', "'Topology'"),
        ("{}", "no type"),
        (feature("{}") + "\n" + feature("{}"), "declare format geojsonl"),
        ('{"type":"FeatureCollection","features":[]} {}', "more follows"),
        ('{"type" "FeatureCollection"}' + " " * 20, "not JSON"),
        (b"PAR1....", "it is Parquet"),
    ],
)
def test_what_is_not_geojson_is_refused(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(Refused, match=words) as caught:
        read_text(tmp_path, "geojson", text)
    assert "file.geojson" in str(caught.value)


def test_check_sees_a_cut_end(tmp_path: Path) -> None:
    path = tmp_path / "a.geojson"
    path.write_text(files.collection([feature("{}")] * 3)[:-40])
    with pytest.raises(HalfWritten, match="left for the next run"):
        check(landed(path), SourceSpec("geojson", COLUMNS))


def test_windows_of_any_size_give_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window's edge falls on every character once."""
    from geostrata.readers import json_scan, limits

    features = [
        feature('{"n":12345,"a":"\\ud83d\\ude00 \\"x\\" ü"}'),
        '{"type":"Feature","properties":{"n":1,,},"geometry":null}',
        feature('{"x":-1.5e-3}', "null"),
    ]
    text = files.collection(features, "EPSG:2056")
    expected = read_text(tmp_path, "geojson", text)
    assert len(expected) == 3
    for size in (*range(1, 40), 100):
        monkeypatch.setattr(json_scan, "LIMITS", limits.Limits(chunk_bytes=size))
        assert read_text(tmp_path, "geojson", text) == expected
