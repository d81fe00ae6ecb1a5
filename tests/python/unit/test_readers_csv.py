"""CSV as it comes in real life."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import reader_files as files

from geostrata.errors import GeostrataError
from geostrata.readers import Refused, SourceSpec

COLUMNS = {"a": "string", "b": "bigint", "c": "double"}


def read_csv(
    tmp_path: Path, text: str | bytes, columns: dict[str, str] | None = None, **more: Any
) -> list[dict[str, Any]]:
    path = tmp_path / "file.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return files.rows_of(path, SourceSpec("csv", columns or COLUMNS, **more))


def values(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["a"], row["b"], row["c"]) for row in rows]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_quotes(tmp_path: Path, end: str) -> None:
    lines = ["a,b,c", '"x, ""y""",1,2.5', f'"two{end}lines",2,', "", ",,", '"",3,1e3']
    rows = read_csv(tmp_path, end.join(lines))
    assert values(rows) == [
        ('x, "y"', 1, 2.5),
        (f"two{end}lines", 2, None),
        (None, None, None),
        (None, 3, 1000.0),
    ]
    assert [row["_source_position"] for row in rows] == ["line 2", "line 3", "line 6", "line 7"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"separator": ";"}, "a;b;c\nx;1;2\n"),
        ({"separator": "\\t"}, "a\tb\tc\nx\t1\t2\n"),
        ({"separator": "|", "quote": "'"}, "a|b|c\n'x'|1|2\n"),
        ({"quote": ""}, "a,b,c\nx,1,2\n"),
        ({"header": "false"}, "x,1,2\n"),
        ({"null": "NA"}, "a,b,c\nx,1,2\n"),
    ],
)
def test_options(tmp_path: Path, options: dict[str, str], text: str) -> None:
    assert values(read_csv(tmp_path, text, options=options)) == [("x", 1, 2.0)]


def test_null_text_and_escapes(tmp_path: Path) -> None:
    assert values(read_csv(tmp_path, "a,b,c\nNA,NA,1\n", options={"null": "NA"})) == [(None, None, 1.0)]
    assert values(read_csv(tmp_path, 'a,b,c\n"x\\"y",1,1\n', options={"escape": "\\"})) == [('x"y', 1, 1.0)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "latin-1", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    options = {} if encoding in ("utf-8-sig", "utf-16") else {"encoding": encoding}
    assert values(read_csv(tmp_path, "a,b,c\nZürich,1,2\n".encode(encoding), options=options)) == [
        ("Zürich", 1, 2.0)
    ]


def test_ragged_rows(tmp_path: Path) -> None:
    rows = read_csv(tmp_path, "a,b,c\nx,1\ny,2,3,,\nz,3,4,five,,six\n")
    assert rows[0]["_corrupt_record"] == "x,1"
    assert values(rows)[0] == (None, None, None)
    assert (values(rows)[1], rows[1]["_rescued"]) == (("y", 2, 3.0), None)
    assert json.loads(rows[2]["_rescued"]) == {"#4": "five", "#6": "six"}


@pytest.mark.parametrize("bad", ['"never closed,1,2', 'x,"1,2', '"closed" too early,1,2'])
def test_a_stray_quote_costs_its_line_only(tmp_path: Path, bad: str) -> None:
    good = [f"x{number},{number},0" for number in range(2500)]
    rows = read_csv(tmp_path, "\n".join(["a,b,c", *good[:5], bad, *good[5:]]) + "\n")
    assert len(rows) == len(good) + 1
    assert rows[5]["_corrupt_record"] == bad
    assert [row["b"] for row in rows if row["_corrupt_record"] is None] == list(range(2500))


def test_header_names_twice_and_empty(tmp_path: Path) -> None:
    (row,) = read_csv(tmp_path, "a,a,,B,c\n1,2,3,4,5\n")
    assert values([row]) == [("1", 4, 5.0)]
    assert json.loads(row["_rescued"]) == {"a#2": "2", "#3": "3"}


def test_values_that_do_not_fit(tmp_path: Path) -> None:
    text = b"a,b,c\ncaf\xe9,0x10,1e999\n\x00,99999999999999999999,nan\nx,1_000, 7 \n"
    rows = read_csv(tmp_path, text)
    assert values(rows)[0] == (None, None, None)
    assert json.loads(rows[0]["_rescued"]) == {"a": "caf\udce9", "b": "0x10", "c": "1e999"}
    assert rows[1]["a"] == "\0"
    assert json.loads(rows[1]["_rescued"]) == {"b": "99999999999999999999"}
    assert (values(rows)[2], rows[2]["_rescued"]) == (("x", None, 7.0), '{"b":"1_000"}')


@pytest.mark.parametrize("text", ["x;y\n1;2\n", '"a,b\n', "\x00\x01\x02\n"])
def test_a_header_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused, match="check separator"):
        read_csv(tmp_path, text)


def test_a_field_larger_than_pythons_limit(tmp_path: Path) -> None:
    long = "POLYGON((" + "1 2," * 100_000 + "1 2))"
    assert read_csv(tmp_path, f'a,b,c\n"{long}",1,2\n')[0]["a"] == long


def test_an_endless_line_is_one_corrupt_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geostrata.readers import limits, text

    monkeypatch.setattr(text, "LIMITS", limits.Limits(excerpt_chars=10, chunk_bytes=64))
    rows = read_csv(tmp_path, f"a,b,c\n{'y' * 1000},1,2\nx,1,2\n", limits=limits.FileLimits(record_bytes=100))
    assert rows[0]["_corrupt_record"].startswith("yyyyyyyyyy ... and 995 more characters")
    assert values(rows)[1] == ("x", 1, 2.0)


@pytest.mark.parametrize(
    ("name", "value"), [("separator", "ab"), ("quote", "''"), ("encoding", "klingon"), ("encoding", "hex")]
)
def test_options_that_make_no_sense(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(GeostrataError, match=f"option {name} must"):
        read_csv(tmp_path, "a,b,c\nx,1,2\n", options={name: value})
