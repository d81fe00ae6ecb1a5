"""What a file may cost: each limit, each way around it that was seen, and what a source may say."""

from __future__ import annotations

import gzip
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reader_files as files
import shapely

from geostrata.errors import GeostrataError
from geostrata.geometry.coordinate_systems import coordinate_system
from geostrata.geometry.examining import examine
from geostrata.landing import reader_process, tasks
from geostrata.landing.declaration import Declaration
from geostrata.landing.listing import list_files, skipped_message
from geostrata.landing.outcomes import REFUSED, outcome_of
from geostrata.printable import printable
from geostrata.readers import LandedFile, Refused, SourceSpec, inspect, landed, read
from geostrata.readers.detecting import detect
from geostrata.readers.guessing import geometry_encoding
from geostrata.readers.limits import FileLimits

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "formats"))
import hostile_corpus

ROOT = Path(__file__).resolve().parents[3]
SMALL = FileLimits.of(hostile_corpus.LIMITS)
ANY = {"name": "string"}


def landed_rows(
    path: Path, name: str, limits: FileLimits = SMALL, columns: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    spec = SourceSpec(name, columns or ANY, limits=limits)
    return [row for batch in tasks.file_rows(landed(path), spec) for row in batch.to_pylist()]


def problem_of(path: Path, name: str, limits: FileLimits = SMALL) -> str:
    (row,) = landed_rows(path, name, limits)
    return str(row["_file_problem"])


def seconds(work: Callable[[], object]) -> float:
    """Of this process: others may be busy."""
    started = time.process_time()
    work()
    return time.process_time() - started


def grows_with_size(work: Callable[[int], object], size: int) -> None:
    """Four times as much takes about four times as long; the square would take sixteen."""
    work(size // 8)
    once = min(seconds(lambda: work(size)) for _ in range(3))
    assert min(seconds(lambda: work(4 * size)) for _ in range(3)) < 9 * max(once, 0.002)


# A source says what its files may cost.


def test_a_source_sets_limits() -> None:
    external = {"file_format": "csv", "limits": {"unpacked_bytes": "2 GB", "rows": 5, "deadline_s": 10}}
    limits = Declaration.of("landing.trees", "/landing", external, ANY).spec.limits
    assert limits == replace(FileLimits(), unpacked_bytes=2 * 10**9, rows=5, deadline_s=10)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rowz": 1}, "limits.rowz is unknown: did you mean rows?"),
        ({"rows": 0}, "limits.rows must be a whole number over 0, got 0"),
        ({"rows": True}, "limits.rows must be a whole number over 0, got True"),
        ({"rows": "many"}, "limits.rows must be a whole number over 0, got 'many'"),
        ({"spool_bytes": "2 XB"}, "limits.spool_bytes must be a size such as 500000 or 2 GB, got '2 XB'"),
        ([1], "limits must be a mapping of names to numbers, got [1]"),
    ],
)
def test_a_slip_in_limits_is_told(given: Any, message: str) -> None:
    with pytest.raises(GeostrataError, match=re.escape(f"source landing.trees: {message}")):
        Declaration.of("landing.trees", "/landing", {"file_format": "csv", "limits": given}, ANY)


def test_the_guide_lists_every_limit_with_its_default() -> None:
    text = (ROOT / "docs/security.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", text, re.MULTILINE))
    assert {name: int(value.replace(",", "")) for name, value in told.items()} == {
        field.name: field.default for field in fields(FileLimits)
    }


# Bombs that were seen.


def test_a_small_parquet_file_of_one_value(tmp_path: Path) -> None:
    hostile_corpus.parquet_bomb(tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 1000
    assert "unpack to more than 200 times" in problem_of(tmp_path / "a.parquet", "parquet")


def test_rows_of_parquet_are_known_before_they_are_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": pa.nulls(400_000, pa.string())}), tmp_path / "a.parquet")
    assert "it has 400,000 rows; if it is right, raise limits.rows" in problem_of(
        tmp_path / "a.parquet", "parquet"
    )


@pytest.mark.parametrize("name", ["csv", "geojson", "geopackage", "shapefile", "flatgeobuf"])
def test_a_small_zip_of_a_hundred_megabytes(tmp_path: Path, name: str) -> None:
    member = {"geopackage": "a.gpkg", "shapefile": "a.shp", "flatgeobuf": "a.fgb"}.get(name, f"a.{name}")
    hostile_corpus.zip_bomb(tmp_path / "a.zip", member)
    assert (tmp_path / "a.zip").stat().st_size < 2000
    assert "can't be unpacked" in problem_of(tmp_path / "a.zip", name)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("csv", "unpacked_ratio"),
        *((name, "unpacked_bytes") for name in ("csv", "jsonl", "geojson", "geojsonl")),
    ],
)
def test_a_gzip_that_unpacks_to_too_much(tmp_path: Path, name: str, limit: str) -> None:
    path = tmp_path / f"a.{name}.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b"name\n" if name == "csv" else b'{"type":"FeatureCollection","features":[')
        for _ in range(300 if limit == "unpacked_ratio" else 20):
            stream.write(b" " * (1 << 20))
    limits = FileLimits(unpacked_bytes=10**7) if limit == "unpacked_bytes" else FileLimits()
    spec = SourceSpec(name, ANY, limits=limits)
    outcome = outcome_of(landed(path), spec)
    assert outcome.kind == REFUSED
    assert limit in str(outcome.reason)


@pytest.mark.parametrize("make", [hostile_corpus.endless_contents, hostile_corpus.endless_layer])
def test_a_geopackage_without_an_end(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.gpkg")
    limits = replace(SMALL, rows=3_000, deadline_s=30)
    assert re.search(
        "is a view|limits.rows|limits.deadline_s", problem_of(tmp_path / "a.gpkg", "geopackage", limits)
    )


def test_a_look_for_xml_takes_no_time(tmp_path: Path) -> None:
    """142 bytes took 42 seconds, and each ten more twice as long."""
    (tmp_path / "a.csv").write_text("<" + "!>\n<!-->\n<" * 40)
    reader_process.call("a", 0, replace(SMALL, deadline_s=20), detect, str(tmp_path / "a.csv"))
    (tmp_path / "a.xml").write_text(
        "<?xml version='1.0'?>\n<!-- a > b -->\n<!DOCTYPE x>\n<gml:Collection a='b'>"
    )
    with pytest.raises(Refused, match=r"it is XML \(Collection\)"):
        detect(str(tmp_path / "a.xml"))


def test_equal_names_and_wide_rows_of_csv(tmp_path: Path) -> None:
    def wide(count: int) -> None:
        path = tmp_path / f"{count}.csv"
        path.write_text("a," * count + "a\n" + "1," * (count + 5) + "1\n")
        spec = SourceSpec("csv", {"a": "string"}, limits=FileLimits(columns=10**6))
        assert sum(batch.num_rows for batch in read(landed(path), spec)) == 1

    grows_with_size(wide, 2_000)


def test_columns_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a," * 2_000 + "a\n")
    assert "its header has 2,001 columns" in problem_of(path, "csv")
    path.write_text("name\nx\n" + "1," * 2_000 + "1\n")
    good, wide = landed_rows(path, "csv")
    assert (good["name"], wide["name"]) == ("x", None)
    assert "a record of 2,001 fields; if it is right, raise limits.columns" in wide["_corrupt_record"]
    pq.write_table(pa.table({f"c{at}": [1] for at in range(2_000)}), tmp_path / "a.parquet")
    assert "it has 2,000 columns" in problem_of(tmp_path / "a.parquet", "parquet")


@pytest.mark.parametrize("element", [b"1,", b'{"type":"Feature",]},', b'{"a":1]},', b"[1],"])
def test_broken_features_cost_themselves_only(tmp_path: Path, element: bytes) -> None:
    """3.3 kB of gzip took 50 seconds: behind each one the rest was searched for the next feature."""

    def broken(count: int) -> None:
        path = tmp_path / f"{count}.geojson"
        path.write_bytes(b'{"type":"FeatureCollection","features":[' + element * count + b"1]}")
        assert sum(batch.num_rows for batch in read(landed(path), SourceSpec("geojson", ANY))) > 0

    grows_with_size(broken, 200_000 // len(element))


@pytest.mark.parametrize("name", ["csv", "jsonl", "geojsonl"])
def test_an_emoji_in_a_long_record(tmp_path: Path, name: str) -> None:
    """Python takes four bytes for each character of such a text."""
    path = tmp_path / "a.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b"name\n" if name == "csv" else b'{"name":"')
        stream.write("\U0001f600".encode())
        for _ in range(100):
            stream.write(b"x" * (1 << 20))
        stream.write(b"\n" if name == "csv" else b'"}\n')
    (row,) = landed_rows(path, name, FileLimits(memory_bytes=600 << 20))
    assert row["_file_problem"] is None
    assert "too long for a record; if it is right, raise limits.record_bytes" in row["_corrupt_record"]


def test_a_long_feature_refuses_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.geojson").write_text(
        '{"type":"FeatureCollection","features":[{"name":"' + "x" * 9_000_000 + '"}]}'
    )
    assert "limits.record_bytes" in problem_of(tmp_path / "a.geojson", "geojson")


def test_a_tangle_is_not_repaired() -> None:
    """2,000 random vertices: 13.6 seconds and 1.2 GB."""
    rng = np.random.default_rng(1)
    tangle = shapely.polygons(rng.random((20_000, 2)))
    bow_tie = shapely.from_wkt("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))")
    found = examine([shapely.to_wkb(tangle), shapely.to_wkb(bow_tie)], ["EPSG:4326"] * 2, repair=True)
    assert found["is_valid"].tolist() == [False, True]
    assert found["is_repaired"].tolist() == [False, True]
    assert "more than 50,000 crossings: too many to repair" in found["problem"][0]


def test_an_invalid_coast_is_still_repaired() -> None:
    """Many vertices and one crossing are no tangle."""
    angle = np.linspace(0, 2 * np.pi, 30_000)
    xy = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 0.1 * np.sin(500 * angle))[:, None]
    xy[[100, 103]] = xy[[103, 100]]
    found = examine([shapely.to_wkb(shapely.polygons(xy))], ["EPSG:4326"], repair=True)
    assert found["is_repaired"].tolist() == [True]


# Siblings of those.


@pytest.mark.parametrize(
    "value",
    [
        shapely.to_wkb(shapely.linestrings(np.zeros((120_000, 2)))),
        shapely.to_wkb(shapely.linestrings(np.zeros((120_000, 3))), output_dimension=3),
    ],
)
def test_a_geometry_of_too_many_vertices_is_a_corrupt_record(tmp_path: Path, value: bytes) -> None:
    small = shapely.to_wkb(shapely.points(1, 2))
    table = pa.table({"name": ["a", "b", "c"], "geometry": pa.array([small, value, small], pa.binary())})
    pq.write_table(table, tmp_path / "a.parquet")
    rows = landed_rows(tmp_path / "a.parquet", "parquet", columns={**ANY, "geometry": "binary"})
    assert [row["geometry"] for row in rows] == [small, None, small]
    assert [row["name"] for row in rows] == ["a", "b", "c"]
    assert "vertices; if it is right, raise limits.vertices" in rows[1]["_corrupt_record"]
    assert [row["_corrupt_record"] for row in rows[::2]] == [None, None]


def test_blanks_in_front_of_wkt_take_no_time() -> None:
    grows_with_size(lambda count: geometry_encoding(" " * count + "x", set()), 20_000)
    grows_with_size(lambda count: geometry_encoding("POINT" + " " * count + "x", set()), 20_000)
    assert geometry_encoding(" \n SRID=4326; POINT Z (1 2 3)", set()) == "wkt"
    assert geometry_encoding(f"SRID={'9' * 5000};POINT (1 2)", set()) is None


def test_quotes_without_a_partner_take_no_time(tmp_path: Path) -> None:
    def look(count: int) -> None:
        path = tmp_path / "a.json"
        path.write_text('{"type":"Feature",\n"' + '\\"' * count)
        with pytest.raises(Refused):
            inspect([str(path)])
            raise Refused("", "it is read as far as it goes")

    grows_with_size(look, 5_000)


def test_the_text_of_a_crs_is_bounded(tmp_path: Path) -> None:
    """Every row carries it."""
    path = files.write_geoparquet(tmp_path / "a.parquet")
    table = pq.read_table(path)
    crs = '{"columns":{"geometry":{"crs":"' + "x" * 1_000_000 + '"}},"primary_column":"geometry"}'
    pq.write_table(table.replace_schema_metadata({"geo": crs}), path)
    assert "the text of its CRS has 1,000,000 characters" in problem_of(path, "geoparquet")


def test_a_flatgeobuf_header_of_four_gigabytes(tmp_path: Path) -> None:
    hostile_corpus._fgb_header(tmp_path / "a.fgb")
    assert problem_of(tmp_path / "a.fgb", "flatgeobuf").startswith("the FlatGeobuf ends before")


def test_rows_and_spool_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name\n" + "abcdefgh\n" * 1_000)
    assert "limits.rows" in problem_of(tmp_path / "a.csv", "csv", FileLimits(rows=999))
    assert "limits.spool_bytes" in problem_of(tmp_path / "a.csv", "csv", FileLimits(spool_bytes=5_000))
    assert len(landed_rows(tmp_path / "a.csv", "csv", FileLimits(rows=1_000))) == 1_000


# The process that reads.


def _sleeps(_: str) -> None:
    time.sleep(3600)


def _crashes(_: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _is_killed(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _takes_memory(_: str) -> int:
    return len(bytearray(1 << 30))


def _pid(_: str) -> int:
    return os.getpid()


def _temporary(_: str) -> str:
    import tempfile

    return tempfile.mkdtemp()


def called(function: Callable[[str], Any], **limits: int) -> Any:
    return reader_process.call("a.csv", 0, FileLimits(**limits), function, "x")


def test_one_process_reads_file_after_file() -> None:
    assert called(_pid) == called(_pid) != os.getpid()


def test_a_file_that_takes_too_long_costs_itself_only() -> None:
    first, folder = called(_pid), Path(called(_temporary))
    with pytest.raises(Refused, match=r"reading it took more than 1 seconds; .* raise limits.deadline_s"):
        called(_sleeps, deadline_s=1)
    assert called(_pid) != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert not folder.parent.exists()


def test_a_crash_costs_its_file_only() -> None:
    with pytest.raises(Refused, match="a library crashed on it \\(SIGSEGV\\)"):
        called(_crashes)
    with pytest.raises(MemoryError):
        called(_is_killed)
    assert called(_pid)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems don't bound it")
def test_memory_is_bounded() -> None:
    assert called(_takes_memory) == 1 << 30
    with pytest.raises(
        Refused, match=r"takes more than 536,870,912 bytes of memory; .* raise limits.memory_bytes"
    ):
        called(_takes_memory, memory_bytes=512 << 20)


def test_a_file_that_is_half_read_leaves_no_process(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "csv", 20_000)
    rows = reader_process.read(landed(path), files.spec_for("csv"))
    next(rows)
    rows.close()
    assert len(list(reader_process.read(landed(path), files.spec_for("csv")))) > 1


# What lies in a landing folder, and what it is called.


def listed(folder: Path, name: str = "csv") -> tuple[list[str], list[str]]:
    declared = Declaration.of("landing.trees", str(folder), {"file_format": name}, ANY)
    skipped: list[str] = []
    found = list_files(declared, None, skipped)
    assert len(skipped_message(declared, skipped)) == bool(skipped)
    return [str(Path(file.path).relative_to(folder)) for file in found or []], sorted(skipped)


def test_what_is_no_file_of_the_folder_is_skipped(tmp_path: Path) -> None:
    folder, outside = tmp_path / "landing", tmp_path / "outside"
    for one in (folder / "2026", outside):
        one.mkdir(parents=True)
        (one / "a.csv").write_text("name\nx\n")
    (folder / "2026/up").symlink_to(folder)
    (folder / "2026/self").symlink_to("self")
    (folder / "again").symlink_to("2026")
    (folder / "b.csv").symlink_to("2026/a.csv")
    (folder / "out").symlink_to(outside)
    (folder / "out.csv").symlink_to(outside / "a.csv")
    os.mkfifo(folder / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.csv"))
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.csv")).write_text("name\nx\n")
    found, skipped = listed(folder)
    assert found == ["2026/a.csv", "b.csv"]
    assert skipped == [
        "2026/self (Too many levels of symbolic links)",
        "2026/up (a link in a circle)",
        "out (a link out of the folder)",
        "out.csv (a link out of the folder)",
        "pipe.csv (a pipe)",
        "socket.csv (a socket)",
        "\udcff.csv (its name is not UTF-8)",
    ]


def test_a_thousand_folders_in_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("name\nx\n")
    here = Path.cwd()
    monkeypatch.chdir(tmp_path)
    for _ in range(1_500):
        Path("d").mkdir()
        os.chdir("d")
    os.chdir(here)
    try:
        found, skipped = listed(tmp_path)
    finally:
        # Python's own rmtree, with which pytest tidies up, gives up at this depth.
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)
    assert found == ["a.csv"]
    assert len(skipped) == 1
    assert skipped[0].endswith("(more than 100 folders deep)")


def test_names_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    assert printable("a\x1b[31m\n\u202e\udcffü") == "a\\x1b[31m\\n\\u202e\\udcffü"
    declared = Declaration.of("landing.trees", str(tmp_path), {"file_format": "csv"}, ANY)
    (line,) = skipped_message(declared, [f"\x1b{at} (a pipe)" for at in range(9)])
    assert line.endswith("\\x1b4 (a pipe) and 4 more")
    assert line.isprintable()
    assert str(Refused("a\x1b.csv", "b\x07")) == "a\\x1b.csv: b\\x07"


@pytest.mark.parametrize("ending", [".dbf", ".prj", ".shx"])
def test_a_pipe_or_a_link_beside_a_shapefile(tmp_path: Path, ending: str) -> None:
    path = files.write_ogr(tmp_path / "a.shp")
    path.with_suffix(ending).unlink()
    os.mkfifo(path.with_suffix(ending))
    assert f"a{ending} beside it is no file" in problem_of(path, "shapefile")
    path.with_suffix(ending).unlink()
    path.with_suffix(ending).symlink_to("/etc/passwd")
    assert f"a{ending} beside it is a link out of its folder" in problem_of(path, "shapefile")


def test_a_pipe_that_takes_the_place_of_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    file = LandedFile(str(tmp_path / "a.csv"), 0, 0)
    spec = SourceSpec("csv", ANY, limits=SMALL)
    assert list(tasks.file_rows(file, spec))
    with pytest.raises(Refused, match="it is no file"):
        files_open(str(tmp_path / "a.csv"))


def files_open(path: str) -> None:
    from geostrata.readers import open_file

    open_file(path)


@pytest.mark.parametrize(
    "text",
    [
        "+init={}:1",
        "+proj=utm +zone=33 +nadgrids={}",
        "+proj=utm +zone=33 +nadgrids=@{},null",
        "+proj=utm +zone=33 +geoidgrids={}",
        "+proj=pipeline +step +proj=hgridshift +grids={}",
        "+proj=hgridshift +grids=x",
        'PROJCS["x",GEOGCS["y"],EXTENSION["PROJ4","+init={}:1"]]',
        'BOUNDCRS[SOURCECRS[GEOGCRS["x"]],ABRIDGEDTRANSFORMATION["y",PARAMETERFILE["grid", "{}"]]]',
        '{{"type":"BoundCRS","transformation":{{"parameters":[{{"name":"file","value":"{}"}}]}}}}',
        '{{"type":"BoundCRS","value":"\\u002fetc"}}',
    ],
)
def test_a_crs_opens_no_file(tmp_path: Path, text: str) -> None:
    """At a pipe PROJ would wait for ever."""
    os.mkfifo(tmp_path / "grid")
    found = coordinate_system(text.format(tmp_path / "grid"))
    assert not found.is_known
    assert "names a file or a pipeline of its own" in str(found.problem) or len(text) > 90


@pytest.mark.parametrize(
    "text", ["+init=epsg:25833", "+proj=utm +zone=33 +ellps=GRS80 +nadgrids=@null +units=m"]
)
def test_a_crs_of_its_own_words_is_known(text: str) -> None:
    assert coordinate_system(text).is_known
