"""The benchmark's answers: equal ones are found equal in any order, and every kind of slip is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.spatial import answers
from benchmarks.spatial.engines.base import nearest_of


def test_the_order_of_rows_does_not_matter() -> None:
    one = answers.pairs([2, 1], [20, 10], [200, 100])
    other = answers.pairs([1, 2], [10, 20], [100, 200])
    assert answers.difference(one, other) is None
    assert answers.summary(one) == answers.summary(other)


def test_a_join_with_one_other_point_differs() -> None:
    """As many points in each shape, but not the same."""
    one, other = answers.pairs([1, 2], [10, 20], [100, 200]), answers.pairs([1, 2], [10, 20], [100, 201])
    assert "sum_of_ids differs in 1 rows of 2" in (answers.difference(one, other) or "")
    assert answers.summary(one) != answers.summary(other)


def test_a_missing_row_is_told() -> None:
    one, other = answers.rows([1, 2]), answers.rows([1])
    assert answers.difference(one, other) == "2 rows and 1"


@pytest.mark.parametrize(("metres", "is_same"), [(100.0009, True), (100.0011, False)])
def test_distances_may_differ_by_a_millimetre(metres: float, is_same: bool) -> None:
    one, other = (answers.neighbours([1], [0], [7], [value]) for value in (100.0, metres))
    assert (answers.difference(one, other) is None) is is_same


def test_neighbours_in_another_order_differ() -> None:
    one = answers.neighbours([1, 1], [0, 1], [7, 8], [5.0, 5.0])
    other = answers.neighbours([1, 1], [0, 1], [8, 7], [5.0, 5.0])
    assert "facility_id differs" in (answers.difference(one, other) or "")


def test_pieces_that_only_one_engine_finds_count_by_their_area() -> None:
    whole = ([1, 2], [1, 1], [200_000.0, 150_000.0])
    one = answers.pieces(*whole)
    with_sliver = answers.pieces([1, 2, 3], [1, 1, 1], [200_000.0, 150_000.0, 2.0])
    assert answers.difference(one, with_sliver) is None
    assert answers.difference(with_sliver, one) is None
    with_more = answers.pieces([1, 2, 3], [1, 1, 1], [200_000.0, 150_000.0, 500.0])
    assert "area_m2 differs in 1 pieces" in (answers.difference(one, with_more) or "")
    assert answers.summary(one) == answers.summary(with_sliver) != answers.summary(with_more)


def test_an_area_that_is_a_little_off_differs() -> None:
    one, other = answers.pieces([1], [1], [200_000.0]), answers.pieces([1], [1], [200_020.0])
    assert answers.difference(one, other)


def test_answers_survive_a_file(tmp_path: Path) -> None:
    answer = answers.neighbours([2, 1], [0, 0], [7, 8], [5.5, 6.5])
    answers.save(tmp_path / "answer.npz", answer)
    found = answers.load(tmp_path / "answer.npz")
    assert answers.difference(answer, found) is None
    assert [column.dtype for column in found.values()] == [np.int64, np.int64, np.int64, np.float64]


def test_the_nearest_few_of_each_point_are_kept() -> None:
    point = np.repeat([3, 4], [7, 6])
    facility, metres = np.arange(13), np.append(np.arange(7.0), np.arange(6.0))
    found = nearest_of(point, facility, metres)
    assert found["point_id"].tolist() == [3] * 5 + [4] * 5
    assert found["rank"].tolist() == [0, 1, 2, 3, 4] * 2
    assert found["facility_id"].tolist() == [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]
