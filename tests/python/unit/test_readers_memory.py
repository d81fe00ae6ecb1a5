"""A file is never held whole: what is held depends on its largest record."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import reader_files as files

from geostrata.readers import SourceSpec, landed, limits, read, rows
from geostrata.readers import json_scan as scan


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_through(path: Path, spec: SourceSpec) -> int:
    return sum(batch.num_rows for batch in read(landed(path), spec))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound itself, at a size that is quick to reach."""
    small = limits.Limits(batch_rows=500, chunk_bytes=32 << 10)
    monkeypatch.setattr(rows, "LIMITS", small)
    monkeypatch.setattr(scan, "LIMITS", small)


@pytest.mark.parametrize("ending", ["geojson", "geojsonl", "jsonl", "csv"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, small_batches: None, ending: str) -> None:
    peaks = []
    for count in (3_000, 12_000):
        path = files.write_any(tmp_path, ending, count)
        peaks.append(peak_bytes(lambda path=path: read_through(path, files.spec_for(ending))))  # type: ignore[misc]
    assert peaks[1] < 1.2 * peaks[0]


def test_a_collection_is_read_in_a_fraction_of_what_json_takes(tmp_path: Path, small_batches: None) -> None:
    path = files.write_any(tmp_path, "geojson", 8_000)
    streamed = peak_bytes(lambda: read_through(path, files.spec_for("geojson")))
    loaded = peak_bytes(lambda: json.loads(path.read_bytes()))
    assert streamed < loaded / 10


def test_batches_of_large_records_are_small(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_text("".join(f'{{"id":{number},"name":"{"x" * 3_000_000}"}}\n' for number in range(20)))
    sizes = [batch.num_rows for batch in read(landed(path), files.spec_for("jsonl"))]
    assert sum(sizes) == 20
    assert max(sizes) <= limits.LIMITS.batch_bytes // 3_000_000 + 1
