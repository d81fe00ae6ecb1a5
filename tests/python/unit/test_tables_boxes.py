"""How boxes lie over each other, against counting point by point and pair by pair."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from geostrata.tables import boxes


def some_boxes(count: int, seed: int, largest: float) -> boxes.Boxes:
    chance = np.random.default_rng(seed)
    corners = chance.uniform(0, 1, (count, 2))
    return np.column_stack([corners, corners + chance.uniform(0, largest, (count, 2))])


def depth_by_counting(given: boxes.Boxes) -> float:
    """Between two neighbouring edges nothing changes: one count in each such cell, weighted by its area."""
    xs, ys = np.unique(given[:, [0, 2]]), np.unique(given[:, [1, 3]])
    covered = total = 0.0
    for x0, x1 in itertools.pairwise(xs):
        for y0, y1 in itertools.pairwise(ys):
            x, y = (x0 + x1) / 2, (y0 + y1) / 2
            count = sum(b[0] < x < b[2] and b[1] < y < b[3] for b in given)
            area = (x1 - x0) * (y1 - y0)
            covered += area * (count > 0)
            total += area * count
    return total / covered


@pytest.mark.parametrize(("count", "largest"), [(1, 0.5), (5, 0.3), (25, 0.1), (25, 0.9)])
def test_overlap_depth_is_what_counting_finds(count: int, largest: float) -> None:
    given = some_boxes(count, count, largest)
    assert boxes.overlap_depth(given) == pytest.approx(depth_by_counting(given), rel=1e-9)


def test_known_depths() -> None:
    tiles = np.array([[x, y, x + 1, y + 1] for x in range(4) for y in range(3)], float)
    assert boxes.overlap_depth(tiles) == pytest.approx(1)
    assert boxes.overlap_depth(np.repeat(tiles[:1], 9, axis=0)) == pytest.approx(9)
    # Two of 2 by 1 that share a half: 4 of area on a union of 3.
    assert boxes.overlap_depth(np.array([[0, 0, 2, 1], [1, 0, 3, 1]], float)) == pytest.approx(4 / 3)
    assert boxes.overlap_depth(np.empty((0, 4))) == 0


def test_boxes_without_area_have_a_place() -> None:
    points = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [0.5, 0.2, 0.5, 0.2]], float)
    assert boxes.overlap_depth(points) == pytest.approx(1)
    assert boxes.overlap_depth(np.repeat(points[:1], 4, axis=0)) == pytest.approx(4)
    line = np.array([[0, 5, 2, 5], [1, 5, 3, 5]], float)
    assert boxes.overlap_depth(line) == pytest.approx(4 / 3)


def test_depth_within_each_box_is_what_pairs_say() -> None:
    given = some_boxes(60, 3, 0.3)
    expected = []
    for one in given:
        shared = sum(
            max(0, min(one[2], other[2]) - max(one[0], other[0]))
            * max(0, min(one[3], other[3]) - max(one[1], other[1]))
            for other in given
        )
        expected.append(shared / ((one[2] - one[0]) * (one[3] - one[1])))
    assert boxes.depth_within(given) == pytest.approx(np.array(expected))


def test_depth_within_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    given = some_boxes(100, 4, 0.3)
    whole = boxes.depth_within(given)
    monkeypatch.setattr(boxes, "_PAIRS", 250)
    assert boxes.depth_within(given) == pytest.approx(whole)


def test_windows_tile_the_extent() -> None:
    given = some_boxes(20, 5, 0.2)
    asked = boxes.windows(given, 7)
    areas = (asked[:, 2] - asked[:, 0]) * (asked[:, 3] - asked[:, 1])
    xmin, ymin, xmax, ymax = boxes.extent(given)
    assert len(asked) == 49
    assert areas.sum() == pytest.approx((xmax - xmin) * (ymax - ymin))
    assert boxes.extent(asked) == pytest.approx((xmin, ymin, xmax, ymax))
    # Every box lies in the windows as a whole.
    assert boxes.shares(given, asked).sum(axis=0) == pytest.approx(np.ones(20))


def test_hits_count_borders() -> None:
    given = np.array([[0, 0, 1, 1], [1, 0, 2, 1], [3, 3, 4, 4]], float)
    asked = np.array([[0.2, 0.2, 0.8, 0.8], [1, 0.5, 1, 0.5], [2, 1, 3, 3], [5, 5, 6, 6]], float)
    assert boxes.hits(given, asked).tolist() == [
        [True, False, False],
        [True, True, False],
        [False, True, True],
        [False, False, False],
    ]
