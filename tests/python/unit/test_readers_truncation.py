"""A file that is cut short is left for the next run, wherever it is cut."""

from __future__ import annotations

import pickle
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import reader_files as files

from geostrata.readers import HalfWritten, LandedFile, Refused, check, landed, read

COUNT = 12


def cuts(size: int, number: int) -> list[int]:
    """The first and last bytes, and evenly in between."""
    inner = range(1, size, max(1, size // number))
    return sorted({*range(1, min(20, size)), *inner, *range(max(1, size - 12), size)})


def outcome(path: Path, ending: str) -> str:
    """Of reading. What reading finds half written, the look that comes before it must have found."""
    seen = told(lambda: check(landed(path), files.spec_for(ending)))
    read_as = told(lambda: files.rows_of(path, files.spec_for(ending)))
    assert seen == "half written" or read_as != "half written", f"check said {seen}"
    return read_as


def told(work: Callable[[], object]) -> str:
    try:
        work()
    except HalfWritten:
        return "half written"
    except Refused:
        return "refused"
    return "whole"


@pytest.mark.parametrize("ending", ["parquet", "gpkg", "fgb", "geojson"])
def test_a_cut_file_is_half_written(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending, COUNT)
    whole = path.read_bytes().rstrip(b"\n")
    assert outcome(path, ending) == "whole"
    for size in cuts(len(whole), 60):
        path.write_bytes(whole[:size])
        assert outcome(path, ending) == "half written", size


def test_geojson_cut_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "town.geojson"
    odd = '{"type":"Feature","geometry":null,"properties":{"id":-1.5e3,"name":"\\ud83d\\ude00\\\\","ok":true,"l":[[1]]}}'
    # Its inner ends look like that of a collection: an array of objects, and a brace.
    nested = (
        '{"type":"Feature","properties":{"tags":[{"k":1}]},"links":[{"rel":"self"}],"geometry":'
        '{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]}]}}'
    )
    whole = files.collection([*files.feature_texts(1), odd, nested], "EPSG:2056").strip().encode()
    path.write_bytes(whole)
    assert outcome(path, "geojson") == "whole"
    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        assert outcome(path, "geojson") == "half written", whole[:size][-60:]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "shift_jis"])
def test_geojson_cut_in_another_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "town.geojson"
    spec = files.spec_for("geojson", options={"encoding": encoding})
    # The second byte of these signs is a backslash or a brace in Shift JIS.
    feature = '{"type":"Feature","geometry":null,"properties":{"name":"ソ表ー能}"}}'
    whole = files.collection([feature] * 3).strip().encode(encoding)
    step = {"utf-16": 2, "utf-32": 4}.get(encoding, 1)
    for size in range(len(whole), len(whole) // 2, -step):
        path.write_bytes(whole[:size])
        expected = "whole" if size == len(whole) else "half written"
        assert told(lambda: check(landed(path), spec)) == expected, size
        assert told(lambda: files.rows_of(path, spec)) == expected, size


@pytest.mark.parametrize(
    "broken",
    ['{"type":"Feature","properties":{"a":[1}}', '{"type":"Feature","properties":{"a":"x"y"}}', '{"a":"}'],
)
def test_a_broken_feature_does_not_make_a_file_half_written(tmp_path: Path, broken: str) -> None:
    """Brackets and quotes don't come out even, and yet all is there."""
    good = files.feature_texts(2)
    path = tmp_path / "town.geojson"
    for features in ([broken, *good], [good[0], broken, good[1]], [*good, broken]):
        path.write_text(files.collection(features))
        assert outcome(path, "geojson") == "whole"


PACKED = [
    *(
        (ending, pack)
        for ending in ("geojson", "geojsonl", "jsonl", "csv")
        for pack in (files.gzipped, files.zipped)
    ),
    *((ending, files.zipped) for ending in files.OGR_DRIVERS),
]


@pytest.mark.parametrize(("ending", "pack"), PACKED)
def test_a_cut_archive_is_half_written(tmp_path: Path, ending: str, pack: Callable[..., Path]) -> None:
    path = files.write_any(tmp_path, ending, COUNT)
    others = sorted(set(tmp_path.iterdir()) - {path}) if pack is files.zipped else []
    packed = pack(path, *others)
    whole = packed.read_bytes()
    assert outcome(packed, ending) == "whole"
    for size in cuts(len(whole), 15):
        packed.write_bytes(whole[:size])
        assert outcome(packed, ending) == "half written", size


@pytest.mark.parametrize("ending", ["geojson", "geojsonl", "jsonl", "csv"])
def test_a_cut_far_behind_the_first_lines_is_seen(tmp_path: Path, ending: str) -> None:
    packed = files.gzipped(files.write_any(tmp_path, ending, 4_000))
    whole = packed.read_bytes()
    for size in (len(whole) * 3 // 4, len(whole) - 9, len(whole) - 1):
        packed.write_bytes(whole[:size])
        assert outcome(packed, ending) == "half written", size


@pytest.mark.parametrize("ending", ["geojson", "geojsonl", "jsonl", "csv"])
def test_what_was_cut_before_it_was_packed(tmp_path: Path, ending: str) -> None:
    """GeoJSON tells; of lines, the last one may be corrupt."""
    path = files.write_any(tmp_path, ending, COUNT)
    path.write_bytes(path.read_bytes()[:-30])
    for packed in (files.gzipped(path), files.zipped(path)):
        assert outcome(packed, ending) == ("half written" if ending == "geojson" else "whole")


@pytest.mark.parametrize("ending", ["geojson", "geojsonl", "jsonl", "csv"])
def test_damage_in_an_archive_is_seen_before_it_is_read(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending, 400)
    for packed in (files.gzipped(path), files.zipped(path)):
        whole = bytearray(packed.read_bytes())
        whole[len(whole) * 2 // 3] ^= 0x55
        packed.write_bytes(whole)
        assert told(lambda packed=packed: check(landed(packed), files.spec_for(ending))) == "refused"  # type: ignore[misc]


@pytest.mark.parametrize("ending", ["geojson", "geojsonl", "jsonl", "csv"])
def test_the_look_keeps_nothing(tmp_path: Path, ending: str) -> None:
    packed = files.gzipped(files.write_any(tmp_path, ending, 12_000))
    tracemalloc.start()
    try:
        check(landed(packed), files.spec_for(ending))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize("part", [".shp", ".shx", ".dbf"])
def test_a_shapefile_with_a_cut_part_is_half_written(tmp_path: Path, part: str) -> None:
    path = files.write_any(tmp_path, "shp", COUNT)
    cut = path.with_suffix(part)
    whole = cut.read_bytes()
    # A .dbf ends with a mark behind its rows that nobody needs.
    last = 1 if part == ".dbf" else 0
    for size in cuts(len(whole) - last, 20):
        cut.write_bytes(whole[:size])
        assert outcome(path, "shp") == "half written", size


def test_parts_of_two_deliveries_are_half_written(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp", COUNT)
    (tmp_path / "newer").mkdir()
    newer = files.write_any(tmp_path / "newer", "shp", COUNT + 3)
    shutil.copy(newer.with_suffix(".dbf"), path.with_suffix(".dbf"))
    with pytest.raises(HalfWritten, match=r"12 shapes and 15 rows"):
        files.rows_of(path, files.spec_for("shp"))


def test_a_shapefile_waits_for_its_attributes(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "shp", COUNT)
    path.with_suffix(".dbf").unlink()
    with pytest.raises(HalfWritten, match=r"its \.dbf"):
        check(landed(path), files.spec_for("shp"))


def test_lines_cut_short_can_not_be_told_from_bad_lines(tmp_path: Path) -> None:
    """JSON lines and CSV have no end to miss: what is cut is a corrupt row, and the file is loaded anew once it has grown."""
    for ending in ("jsonl", "geojsonl", "csv"):
        path = files.write_any(tmp_path, ending, COUNT)
        path.write_bytes(path.read_bytes()[:-30])
        rows = files.rows_of(path, files.spec_for(ending))
        assert [row["_corrupt_record"] is not None for row in rows] == [False] * (COUNT - 1) + [True]


def test_a_file_that_is_being_written_is_half_written(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "csv", COUNT)
    state = landed(path)
    listed = LandedFile(state.path, state.size - 1, state.modified_ms)
    with pytest.raises(HalfWritten, match="still being written"):
        check(listed, files.spec_for("csv"))
    batches = read(state, files.spec_for("csv"))
    next(batches)
    with path.open("a") as file:
        file.write("1,2,3,4\n")
    with pytest.raises(HalfWritten, match="changed while it was read"):
        list(batches)


def test_a_file_that_is_gone_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(HalfWritten, match="gone"):
        check(LandedFile(str(tmp_path / "no.csv"), 5, 0), files.spec_for("csv"))
    size = tmp_path.stat().st_size
    with pytest.raises(Refused, match="folder"):
        check(LandedFile(str(tmp_path), size, 0), files.spec_for("csv"))


def test_a_geopackage_with_a_journal_is_being_written(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "gpkg", COUNT)
    path.with_name("town.gpkg-wal").write_bytes(b"x")
    with pytest.raises(HalfWritten, match="gpkg-wal"):
        check(landed(path), files.spec_for("gpkg"))


@pytest.mark.parametrize("ending", sorted(files.FORMATS))
def test_another_format_is_refused(tmp_path: Path, ending: str) -> None:
    for other in files.FORMATS:
        if other == ending or {ending, other} <= {"geojson", "geojsonl", "jsonl", "csv"}:
            continue
        path = files.write_any(tmp_path, other, COUNT)
        if ending in ("geojsonl", "jsonl") and other == "shp":
            continue
        assert outcome(path, ending) == "refused", other


def test_an_error_survives_the_way_from_an_executor() -> None:
    for kind in (HalfWritten, Refused):
        error = pickle.loads(pickle.dumps(kind("a.csv", "why; what to do")))  # noqa: S301 - our own bytes
        assert type(error) is kind
        assert str(error) == "a.csv: why; what to do"
