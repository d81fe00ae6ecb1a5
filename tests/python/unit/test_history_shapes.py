"""Same, nudged, moved or reshaped: shapes that were changed in a known way. No Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely
from shapely import affinity

from geostrata.history.shapes import MOVED, NUDGED, RESHAPED, SAME, shape_changes

TOLERANCE = 1e-9
SQUARE = "POLYGON((16 48,16.001 48,16.001 48.001,16 48.001,16 48))"


def kind(before: Any, after: Any, tolerance: float = TOLERANCE) -> str:
    values = [
        shapely.to_wkb(shapely.from_wkt(shape) if isinstance(shape, str) else shape)
        for shape in (before, after)
    ]
    (found,) = shape_changes([values[0]], [values[1]], tolerance)
    return str(found)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Begun at another corner; the other way round; both, with a point told twice; a multi-polygon of one.
        (SQUARE, "POLYGON((16.001 48.001,16 48.001,16 48,16.001 48,16.001 48.001))"),
        (SQUARE, "POLYGON((16 48,16 48.001,16.001 48.001,16.001 48,16 48))"),
        (SQUARE, "POLYGON((16.001 48,16 48,16 48,16 48.001,16.001 48.001,16.001 48))"),
        (SQUARE, "MULTIPOLYGON(((16.001 48,16 48,16 48.001,16.001 48.001,16.001 48)))"),
        # Holes and parts in another order, a line from its other end.
        (
            "POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,2 1,2 2,1 1),(5 5,6 5,6 6,5 5))",
            "POLYGON((0 0,9 0,9 9,0 9,0 0),(6 6,5 5,6 5,6 6),(2 1,1 1,2 2,2 1))",
        ),
        (
            "MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))",
            "MULTIPOLYGON(((5 5,6 6,6 5,5 5)),((1 1,0 0,1 0,1 1)))",
        ),
        ("LINESTRING(0 0,1 1,2 0)", "LINESTRING(2 0,1 1,0 0)"),
        ("POINT(-0.0 1)", "POINT(0 1)"),
    ],
)
@pytest.mark.parametrize("tolerance", [0, TOLERANCE])
def test_another_way_to_write_it_is_no_change(before: str, after: str, tolerance: float) -> None:
    assert kind(before, after, tolerance) == SAME


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("POINT(0 0)", "POINT(1 1)", MOVED),
        ("POINT(0 0)", "LINESTRING(0 0,1 1)", RESHAPED),
        (SQUARE, "POLYGON((16.002 48,16.001 48,16.001 48.001,16.002 48.001,16.002 48))", MOVED),
        # A corner of the one that is not of the other, though the outline is the same.
        (SQUARE, "POLYGON((16 48,16.0005 48,16.001 48,16.001 48.001,16 48.001,16 48))", RESHAPED),
        # Through the same points, in another order: every corner of the one lies on the other.
        ("LINESTRING(0 0,1 1,2 0,3 1)", "LINESTRING(0 0,2 0,1 1,3 1)", RESHAPED),
        ("POLYGON((0 0,4 0,4 4,2 1,0 4,0 0))", "POLYGON((0 0,2 1,4 0,4 4,0 4,0 0))", RESHAPED),
        # Turned about, or larger, is not the same shape elsewhere.
        ("POLYGON((0 0,2 0,2 1,0 1,0 0))", "POLYGON((0 0,1 0,1 2,0 2,0 0))", RESHAPED),
        ("POLYGON((0 0,2 0,2 1,0 1,0 0))", "POLYGON((0 0,4 0,4 2,0 2,0 0))", RESHAPED),
        # One of two parts moved.
        ("MULTIPOINT((0 0),(1 1))", "MULTIPOINT((0 0),(1 2))", RESHAPED),
        ("POLYGON EMPTY", SQUARE, RESHAPED),
        (SQUARE, "POLYGON EMPTY", RESHAPED),
    ],
)
def test_moved_and_reshaped(before: str, after: str, expected: str) -> None:
    assert kind(before, after) == expected


def test_missing_and_unreadable_values() -> None:
    square = shapely.to_wkb(shapely.from_wkt(SQUARE))
    found = shape_changes(
        [None, None, square, b"words", b"words", bytearray(square)],
        [None, square, None, b"words", square, square],
        TOLERANCE,
    )
    assert found.tolist() == [SAME, RESHAPED, RESHAPED, SAME, RESHAPED, SAME]
    assert shape_changes([], [], TOLERANCE).tolist() == []


def rewritten(shape: Any, random: np.random.Generator) -> Any:
    """The same polygon, begun at another corner and perhaps the other way round."""
    points = shapely.get_coordinates(shape.exterior)[:-1]
    points = np.roll(points, int(random.integers(len(points))), axis=0)[:: int(random.choice([-1, 1]))]
    return shapely.polygons(points)


def test_many_shapes_changed_in_a_known_way() -> None:
    random = np.random.default_rng(6)
    given, expected = [], []
    for _ in range(400):
        angles = np.sort(random.uniform(0, 2 * np.pi, int(random.integers(4, 40))))
        radius = random.uniform(0.0005, 0.001, len(angles))
        west, south = random.uniform(-179, 179), random.uniform(-85, 85)
        shape = shapely.polygons(np.c_[west + radius * np.cos(angles), south + radius * np.sin(angles)])
        east, north = random.uniform(0.00001, 0.01, 2)
        corner = shapely.get_coordinates(shape)[:-1]
        corner[0] += 0.00001
        for after, kind_of_change in (
            (shape, SAME),
            (affinity.translate(shape, east, north), MOVED),
            (shapely.polygons(corner), RESHAPED),
            (affinity.translate(shapely.polygons(corner), east, north), RESHAPED),
        ):
            given.append((shapely.to_wkb(shape), shapely.to_wkb(rewritten(after, random))))
            expected.append(kind_of_change)
    before, after = zip(*given, strict=True)
    assert shape_changes(before, after, TOLERANCE).tolist() == expected


def test_noise_is_told_from_a_change_and_does_not_hide_a_move() -> None:
    random = np.random.default_rng(7)
    # Upright boxes: noise decides which of two corners is the leftmost.
    west, south = random.uniform(0, 90, (2, 500))
    boxes = shapely.box(west, south, west + 0.001, south + 0.002)
    corners = shapely.get_coordinates(boxes).reshape(-1, 5, 2)[:, :4]
    noisy = shapely.polygons(corners + random.uniform(-1e-13, 1e-13, corners.shape))
    moved = shapely.transform(noisy, lambda points: points + 0.01)
    assert set(shape_changes(shapely.to_wkb(boxes), shapely.to_wkb(noisy), TOLERANCE)) == {NUDGED}
    assert set(shape_changes(shapely.to_wkb(boxes), shapely.to_wkb(moved), TOLERANCE)) == {MOVED}
    # Without a tolerance the noise is a change.
    assert set(shape_changes(shapely.to_wkb(boxes), shapely.to_wkb(noisy), 0)) == {RESHAPED}
