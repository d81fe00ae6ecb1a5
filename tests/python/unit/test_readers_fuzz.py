"""Whatever the bytes: only the two declared errors come out, and every line is a row."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import reader_files as files
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from geostrata.readers import HalfWritten, ReaderError, check, landed

# GDAL warns of damaged values, and there are many here.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# Files are written and GDAL opened for each example: slower than Hypothesis likes, and no sign of trouble.
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SPICE = [
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"\n",
    b"\r",
    b"\r\n",
    b"\x1e",
    b"\xef\xbb\xbf",
]


class Good(dict[str, dict[str, bytes]]):
    """Printed short: Hypothesis shows all arguments of a failure."""

    def __repr__(self) -> str:
        return "Good()"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Good:
    """For each format the parts of a good file, by suffix; packed ones too."""
    found = Good()
    for ending in files.FORMATS:
        folder = tmp_path_factory.mktemp(ending)
        path = files.write_any(folder, ending, 6)
        found[ending] = {part.suffix: part.read_bytes() for part in folder.iterdir()}
        if ending in ("geojson", "csv", "jsonl"):
            found[f"{ending} gz"] = {".gz": files.gzipped(path).read_bytes()}
            found[f"{ending} zip"] = {".zip": files.zipped(path).read_bytes()}
    return found


def survives(ending: str, parts: dict[str, bytes]) -> list[dict[str, Any]] | None:
    """The rows, or None after a declared error. Any other error fails the test, and so does a cut that only reading sees."""
    with tempfile.TemporaryDirectory() as name:
        for suffix, data in parts.items():
            (Path(name) / f"town{suffix}").write_bytes(data)
        main = next(suffix for suffix in (f".{ending}", ".gz", ".zip") if suffix in parts)
        path = Path(name) / f"town{main}"
        seen: ReaderError | None = None
        try:
            check(landed(path), files.spec_for(ending))
        except ReaderError as error:
            seen = error
            assert str(path) in str(error)
        try:
            rows = files.rows_of(path, files.spec_for(ending))
        except ReaderError as error:
            assert str(path) in str(error)
            assert isinstance(seen, HalfWritten) or not isinstance(error, HalfWritten)
            return None
        assert seen is None
        return rows


@pytest.mark.parametrize("ending", sorted(files.FORMATS))
@quick
@given(data=st.binary(max_size=300))
def test_random_bytes(ending: str, data: bytes) -> None:
    survives(ending, {f".{ending}": data})


@pytest.mark.parametrize("ending", sorted(files.FORMATS))
@quick
@given(data=st.binary(max_size=200), size=st.integers(4, 110))
def test_random_bytes_behind_a_good_head(good: Good, ending: str, data: bytes, size: int) -> None:
    parts = good[ending]
    survives(ending, {**parts, f".{ending}": parts[f".{ending}"][:size] + data})


CASES = [
    *sorted(files.FORMATS),
    *(f"{ending} {pack}" for ending in ("geojson", "csv", "jsonl") for pack in ("gz", "zip")),
]


@pytest.mark.parametrize("case", CASES)
@quick
@given(data=st.data())
def test_good_files_with_changed_bytes(good: Good, case: str, data: st.DataObject) -> None:
    parts = dict(good[case])
    suffix = data.draw(st.sampled_from(sorted(parts)))
    changed = bytearray(parts[suffix])
    for _ in range(data.draw(st.integers(1, 4))):
        if not changed:
            break
        at = data.draw(st.integers(0, len(changed) - 1))
        if data.draw(st.booleans()):
            changed[at] = data.draw(st.integers(0, 255))
        else:
            end = at + data.draw(st.integers(0, 4))
            changed[at:end] = data.draw(st.sampled_from(SPICE) | st.binary(max_size=4))
    survives(case.split()[0], {**parts, suffix: bytes(changed)})


LINE = st.one_of(
    st.binary(max_size=30).map(lambda line: re.sub(rb"[\r\n]", b"", line)),
    st.sampled_from(
        [b'{"id":1}', b'{"id":1', b"[]", b"  ", b"", b"\xef\xbb\xbf", b"{" * 50, b'{"id":"\\ud800"}']
    ),
)
MARKS = (b"\x1e", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"PK", b"PAR1", b"SQLite format 3", b"fgb")
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@pytest.mark.parametrize("ending", ["jsonl", "geojsonl"])
@settings(max_examples=200, deadline=None)
@given(lines=st.lists(st.tuples(LINE, ENDS)))
def test_every_line_of_json_is_a_row(ending: str, lines: list[tuple[bytes, bytes]]) -> None:
    data = b"".join(line + end for line, end in lines)
    # Marks at the very start choose another encoding or another way of separating, or tell of another format.
    assume(not data.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(MARKS))
    rows = survives(ending, {f".{ending}": data})
    kept = [line for line, _ in lines if line.decode("utf-8", "replace").strip(" \t\x1e\ufeff")]
    assert rows is not None
    assert len(rows) == len(kept)


@settings(max_examples=200, deadline=None)
@given(lines=st.lists(st.tuples(LINE.map(lambda line: line.replace(b'"', b"")), ENDS)))
def test_every_line_of_csv_is_a_row(lines: list[tuple[bytes, bytes]]) -> None:
    """Without quotes, that is: with them, a record may have several lines."""
    rows = survives("csv", {".csv": b"id,name,area,geometry\n" + b"".join(line + end for line, end in lines)})
    assert rows is not None
    assert len(rows) == len([line for line, _ in lines if line])


@settings(max_examples=100, deadline=None)
@given(fields=st.lists(st.lists(st.text(st.characters(codec="utf-8")), min_size=4, max_size=4), max_size=5))
def test_csv_comes_back_as_python_wrote_it(fields: list[list[str]]) -> None:
    import csv
    import io

    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "name", "area", "geometry"])
    writer.writerows(fields)
    rows = survives("csv", {".csv": text.getvalue().encode()})
    assert rows is not None
    assert [row["name"] for row in rows] == [row[1] or None for row in fields]
