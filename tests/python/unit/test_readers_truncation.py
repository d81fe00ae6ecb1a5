"""A file that is cut short is left for the next run, wherever it is cut."""

from __future__ import annotations

import pickle
import shutil
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
    try:
        rows = files.rows_of(path, files.spec_for(ending))
    except HalfWritten:
        return "half written"
    except Refused:
        return "refused"
    return f"{len(rows)} rows"


@pytest.mark.parametrize("ending", ["parquet", "gpkg", "fgb", "geojson"])
def test_a_cut_file_is_half_written(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending, COUNT)
    whole = path.read_bytes().rstrip(b"\n")
    for size in cuts(len(whole), 60):
        path.write_bytes(whole[:size])
        assert outcome(path, ending) == "half written", size


def test_geojson_cut_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "town.geojson"
    odd = '{"type":"Feature","geometry":null,"properties":{"id":-1.5e3,"name":"\\ud83d\\ude00\\\\","ok":true,"l":[[1]]}}'
    whole = files.collection([*files.feature_texts(1), odd], "EPSG:2056").strip().encode()
    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        assert outcome(path, "geojson") == "half written", whole[:size][-60:]


@pytest.mark.parametrize("ending", ["geojson", "geojsonl", "jsonl", "csv"])
@pytest.mark.parametrize("pack", [files.gzipped, files.zipped])
def test_a_cut_archive_is_half_written(tmp_path: Path, ending: str, pack: object) -> None:
    path = pack(files.write_any(tmp_path, ending, COUNT))  # type: ignore[operator]
    whole = path.read_bytes()
    for size in cuts(len(whole), 15):
        path.write_bytes(whole[:size])
        assert outcome(path, ending) == "half written", size


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
