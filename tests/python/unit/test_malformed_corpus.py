"""The corpus of malformed files: the readers give exactly the rows that it says, and fail on none of them."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from geostrata.readers import check, landed, read
from geostrata.readers.spec import FORMATS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "formats"))
from malformed_corpus import FILES, Corpus, CorpusFile, columns_of, write_corpus

# GDAL warns of each damaged shape.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
# Each file has every kind of fault at least twice.
ROWS = 30 * len(FILES)


@pytest.fixture(scope="module", params=[1, 2, 3])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("corpus"), seed=request.param, rows=ROWS)


def rows_of(file: CorpusFile) -> list[dict[str, Any]]:
    found = []
    for batch in read(landed(file.path), file.spec):
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


def test_as_many_rows_come_out_as_went_in(corpus: Corpus) -> None:
    for file in corpus.files:
        check(landed(file.path), file.spec)
        assert len(rows_of(file)) == file.rows, file.path


def test_no_sound_thing_is_lost_and_each_row_has_its_place(corpus: Corpus) -> None:
    for file in corpus.files:
        rows = rows_of(file)
        sound = [row for row in rows if row["thing_id"] and is_sound(row["geometry"], file.encoding)]
        assert len({row["thing_id"] for row in sound}) == file.rows - file.malformed, file.path
        assert len({row["_source_position"] for row in rows}) == file.rows, file.path


def is_sound(value: Any, encoding: str) -> bool:
    if isinstance(value, str) and "\0" in value:
        # C ends a text there, and reads what is in front of it.
        return False
    read_one = {"wkt": shapely.from_wkt, "geojson": shapely.from_geojson}.get(encoding, shapely.from_wkb)
    with np.errstate(all="ignore"):
        try:
            geometry = read_one(value, on_invalid="ignore")
        except NotImplementedError:
            return False
        return geometry is not None and bool(shapely.is_valid(geometry))


def test_there_are_as_many_malformed_ones_as_were_asked_for(corpus: Corpus) -> None:
    assert corpus.malformed >= ROWS
    assert corpus.rows > corpus.malformed
    assert {file.format for file in corpus.files} == set(FORMATS)


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    def written(name: str, seed: int) -> dict[str, str]:
        folder = tmp_path / name
        write_corpus(folder, seed, rows=60)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}

    first = written("first", 5)
    assert written("second", 5) == first
    other = written("other", 6)
    assert [
        name for name in first if other[name] == first[name] and not name.endswith((".prj", ".cpg"))
    ] == []


def test_columns_are_the_same_in_all_formats_but_for_the_geometry() -> None:
    kinds = {name: columns_of(name).pop("geometry") for name in FORMATS}
    assert {name for name, kind in kinds.items() if kind == "string"} == {
        "csv",
        "geojson",
        "geojsonl",
        "jsonl",
    }
