"""Windows as text for SQL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from geostrata.errors import GeostrataError
from geostrata.spatial import windows


@pytest.mark.parametrize(
    ("wkt", "told"),
    [
        ("POLYGON ((0 0", "within_window: wkt can't be read, ParseException"),
        (7, "within_window: wkt can't be read"),
        ("POLYGON EMPTY", "within_window: wkt is empty: POLYGON EMPTY"),
        ("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))", "within_window: wkt is no valid shape, Self-intersection"),
        (
            "POINT (190 0)",
            "within_window: wkt must lie within longitudes -180 to 180 and latitudes -90 to 90, got 190 to 190",
        ),
    ],
)
def test_bad_wkt(wkt: Any, told: str) -> None:
    with pytest.raises(GeostrataError) as error:
        windows.of_wkt(wkt)
    assert str(error.value).startswith(told)


@pytest.mark.parametrize(
    ("bbox", "told"),
    [
        ([0, 0, 1], "bbox must be four numbers [west, south, east, north], got [0, 0, 1]"),
        ("0, 0, 1, 1", "bbox must be four numbers"),
        ([0, 0, 1, "1"], "bbox must be four numbers"),
        ([0, 0, 1, float("nan")], "bbox must be four numbers"),
        (
            [0, 0, 1, 91],
            "bbox must lie within longitudes -180 to 180 and latitudes -90 to 90, got [0, 0, 1, 91]",
        ),
        ([-181, 0, 1, 1], "bbox must lie within"),
        (
            [0, 1, 1, 0],
            "bbox must have its south below its north and its west apart from its east, got [0, 1, 1, 0]",
        ),
        ([1, 0, 1, 1], "bbox must have its south below"),
    ],
)
def test_bad_bbox(bbox: Any, told: str) -> None:
    with pytest.raises(GeostrataError) as error:
        windows.of_bbox(bbox)
    assert str(error.value).startswith("within_window: " + told)


def test_over_the_antimeridian_it_is_two_boxes() -> None:
    window = windows.of_bbox([179.5, -1, -179, 1])
    assert windows.as_sql(window)["boxes"] == [
        ["179.5D", "-1.0D", "180.0D", "1.0D"],
        ["-180.0D", "-1.0D", "-179.0D", "1.0D"],
    ]
    assert windows.of_bbox([179.5, -1, -180, 1]).equals(shapely.box(179.5, -1, 180, 1))
    assert windows.of_bbox([180, -1, -179, 1]).equals(shapely.box(-180, -1, -179, 1))


def test_numbers_keep_all_their_digits() -> None:
    window = shapely.Point(1 / 3, 1e-17)
    text = windows.as_sql(window)
    assert [float(number[:-1]) for number in text["boxes"][0]] == [1 / 3, 1e-17, 1 / 3, 1e-17]
    assert shapely.from_wkb(text["wkb"]).equals_exact(window, 0)


def test_many_parts_are_few_boxes() -> None:
    xy = np.random.default_rng(1).uniform((-180, -60), (179, 60), (100, 2))
    window = shapely.union_all(shapely.box(*xy.T, *(xy + 0.1).T))
    boxes = [shapely.box(*(float(number[:-1]) for number in box)) for box in windows.as_sql(window)["boxes"]]
    assert len(boxes) == 2
    assert shapely.union_all(boxes).covers(window)


def test_shapes_of_a_relation_together() -> None:
    shapes = np.array([shapely.box(0, 0, 1, 1), None, shapely.Polygon(), shapely.box(1, 0, 2, 1)])
    assert windows.of_shapes(shapes, "zones").equals(shapely.box(0, 0, 2, 1))
    with pytest.raises(GeostrataError, match="within_window: ref must have a shape at least, zones has none"):
        windows.of_shapes(shapes[1:3], "zones")


def test_a_window_of_too_many_corners_belongs_into_a_join() -> None:
    with pytest.raises(GeostrataError, match="at most 20000 fit into a statement: use spatial_join"):
        windows.of_shapes(np.array([shapely.Point(0, 0).buffer(1, quad_segs=6000)]), "zones")
