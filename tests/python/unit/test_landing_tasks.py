"""What a worker makes of a file: all of its rows, one row that says why not, or nothing yet."""

from __future__ import annotations

import errno
import gzip
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from geostrata.landing import tasks
from geostrata.landing.outcomes import LEFT, REFUSED, SOUND, outcome_of
from geostrata.landing.spool import Spool
from geostrata.readers import LandedFile, SourceSpec, landed
from geostrata.readers.errors import Passing, Refused, is_passing

TREES = SourceSpec("csv", {"tree_id": "string", "height_m": "double"})


def csv(tmp_path: Path, text: str) -> LandedFile:
    (tmp_path / "trees.csv").write_text(text)
    return landed(str(tmp_path / "trees.csv"))


def rows(file: LandedFile, spec: SourceSpec = TREES) -> list[dict[str, Any]]:
    return [row for batch in tasks.file_rows(file, spec) for row in batch.to_pylist()]


def test_rows_say_where_they_are_from(tmp_path: Path) -> None:
    file = csv(tmp_path, "tree_id,height_m\na,3.5\nb,tall\n")
    found = rows(file)
    assert [(row["tree_id"], row["height_m"]) for row in found] == [("a", 3.5), ("b", None)]
    assert [row["_source_row"] for row in found] == [0, 1]
    assert [row["_source_position"] for row in found] == ["line 2", "line 3"]
    assert {row["_source_file"] for row in found} == {file.path}
    assert {round(row["_source_mtime"].timestamp() * 1000) for row in found} == {file.modified_ms}
    assert [row["_rescued"] for row in found] == [None, '{"height_m":"tall"}']
    assert {row["_file_problem"] for row in found} == {None}


def test_an_empty_file_is_refused_and_one_without_rows_is_not(tmp_path: Path) -> None:
    (row,) = rows(csv(tmp_path, ""))
    assert (row["_file_problem"], row["_source_position"]) == ("it is empty", "file")
    (row,) = rows(csv(tmp_path, "tree_id,height_m\n"))
    assert (row["_file_problem"], row["_source_position"]) == (None, "file without rows")
    assert row["tree_id"] is None


@contextmanager
def out_of_file_handles() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    probe = os.open(os.devnull, os.O_RDONLY)
    os.close(probe)
    resource.setrlimit(resource.RLIMIT_NOFILE, (probe, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_trouble_of_the_machine_is_no_refusal(tmp_path: Path) -> None:
    file = csv(tmp_path, "tree_id,height_m\na,1\n")
    rows(file)  # what is imported on the way is open by now
    with out_of_file_handles():
        found = outcome_of(file, TREES)
        assert found.kind == LEFT
        assert "Too many open files" in (found.reason or "")
        # Once it is being loaded, nothing but a failure would make the next run look again.
        with pytest.raises(Passing, match=r"trees\.csv: it can't be read now"):
            rows(file)
    assert outcome_of(file, TREES).kind == SOUND


@pytest.mark.parametrize(
    "trouble",
    [
        OSError(errno.EIO, "input/output"),
        OSError(errno.ENOSPC, "no space"),
        MemoryError(),
        PermissionError(13, "no"),
    ],
)
def test_which_trouble_passes(trouble: Exception) -> None:
    assert is_passing(trouble)


@pytest.mark.parametrize(
    "trouble", [OSError("Couldn't deserialize thrift"), ValueError("x"), Refused("a", "b")]
)
def test_which_trouble_stays(trouble: Exception) -> None:
    assert not is_passing(trouble)


def test_a_refused_file_is_one_row_with_the_reason(tmp_path: Path) -> None:
    strict = SourceSpec("csv", TREES.columns, schema_policy="strict")
    file = csv(tmp_path, "tree_id,height_m,owner\na,1,x\n")
    assert outcome_of(file, strict).kind == REFUSED
    (row,) = rows(file, strict)
    assert row["_file_problem"].startswith("column owner is new")


def test_a_file_that_grew_since_it_was_listed_is_left(tmp_path: Path) -> None:
    file = csv(tmp_path, "tree_id,height_m\na,1\n")
    (tmp_path / "trees.csv").write_text("tree_id,height_m\na,1\nb,2\n")
    assert outcome_of(file, TREES).kind == LEFT
    assert rows(file) == []


def test_a_file_that_is_gone_is_left(tmp_path: Path) -> None:
    file = csv(tmp_path, "tree_id,height_m\na,1\n")
    (tmp_path / "trees.csv").unlink()
    assert outcome_of(file, TREES).kind == LEFT
    assert rows(file) == []


def test_no_row_of_a_file_that_ends_too_early_gets_out(tmp_path: Path) -> None:
    """The first rows of a cut archive can be read: they are held back until the end has been seen."""
    whole = gzip.compress(b"tree_id,height_m\n" + b"".join(b"%d,1.5\n" % at for at in range(100_000)))
    (tmp_path / "trees.csv.gz").write_bytes(whole[: len(whole) // 2])
    found = rows(landed(str(tmp_path / "trees.csv.gz")))
    assert len(found) == 1
    assert found[0]["_file_problem"]


def test_an_error_nobody_foresaw_costs_its_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def choke(*_: object) -> None:
        raise ZeroDivisionError("of a library")

    monkeypatch.setattr(tasks, "read", choke)
    (row,) = rows(csv(tmp_path, "tree_id,height_m\na,1\n"))
    assert row["_file_problem"] == "it can't be read (ZeroDivisionError: of a library); deliver it again"


def test_a_sound_file_is_sound(tmp_path: Path) -> None:
    assert outcome_of(csv(tmp_path, "tree_id,height_m\na,1\n"), TREES).kind == SOUND


@pytest.mark.parametrize("memory_bytes", [0, 1000, 1 << 20])
def test_a_spool_gives_back_what_it_was_given(memory_bytes: int) -> None:
    batches = [
        pa.RecordBatch.from_pydict({"n": list(range(at, at + 100)), "text": ["x" * at] * 100})
        for at in range(20)
    ]
    with Spool(batches[0].schema, memory_bytes) as spool:
        for batch in batches:
            spool.add(batch)
        assert spool.rows == 2000
        assert pa.Table.from_batches(spool.batches()) == pa.Table.from_batches(batches)


def test_a_large_spool_is_not_held_in_memory() -> None:
    batch = pa.RecordBatch.from_pydict({"data": [b"x" * 1_000_000]})
    with Spool(batch.schema, 2_000_000) as spool:
        before = pa.total_allocated_bytes()
        for _ in range(50):
            spool.add(pa.RecordBatch.from_pydict({"data": [b"y" * 1_000_000]}))
        assert pa.total_allocated_bytes() - before < 5_000_000
        assert sum(batch.num_rows for batch in spool.batches()) == 50
