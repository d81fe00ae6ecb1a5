"""Validity, repair, points in two columns, and the table that comes of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely
from pyspark.sql.pandas.serializers import ArrowStreamPandasUDFSerializer

from geostrata.geometry import SPARK_TYPE, examine, examine_points

pytestmark = pytest.mark.filterwarnings("error")

BOW_TIE = b"POLYGON((0 0,2 2,2 0,0 2,0 0))"


def one(value: Any, crs: str | None = "EPSG:4326", **options: Any) -> dict[str, Any]:
    return row_of(examine([value], [crs], **options))


def row_of(frame: pd.DataFrame, row: int = 0) -> dict[str, Any]:
    return {name: column.astype(object).where(column.notna(), None)[row] for name, column in frame.items()}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("POLYGON((0 0,2 2,2 0,0 2,0 0))", "Self-intersection at 1 1"),
        ("POLYGON((16.37 48.21,17 49,17 48.21,16.37 49,16.37 48.21))", "Self-intersection at 16.685 48.605"),
        ("POLYGON((0 0,1 0,1 1,0 1,0 0),(2 2,3 2,3 3,2 3,2 2))", "Hole lies outside shell at 2 2"),
        ("LINESTRING(1 2,1 2)", "Too few points in geometry component at 1 2"),
    ],
)
def test_invalid_geometry_says_why_and_is_still_given(text: str, problem: str) -> None:
    found = one(text.encode())
    assert (found["is_valid"], found["is_repaired"], found["area_change"]) == (False, False, None)
    assert found["problem"] == problem
    assert found["geometry"] == shapely.to_wkb(shapely.from_wkt(text))


@pytest.mark.parametrize(
    ("text", "change", "kind", "result"),
    [
        # All of two equal lobes is news to a reader who adds them up with their signs.
        ("POLYGON((0 0,2 2,2 0,0 2,0 0))", 1.0, "MultiPolygon", 2.0),
        # Lobes of 8 and 2: 6 before, 10 after.
        ("POLYGON((0 0,6 3,6 1,0 4,0 0))", 0.4, "MultiPolygon", None),
        # A spike at a corner: hardly any change.
        ("POLYGON((0 0,50 0,50 50,-0.1 49.9,-0.1 50.1,0 50.1,0 0))", 1.6e-5, "MultiPolygon", None),
        # A hole larger than its shell: no area before.
        ("POLYGON((0 0,4 0,4 4,0 4,0 0),(2 2,40 2,40 40,2 40,2 2))", 1.0, "Polygon", 12.0),
        # Two squares of 4 share 1.
        ("MULTIPOLYGON(((0 0,2 0,2 2,0 2,0 0)),((1 1,3 1,3 3,1 3,1 1)))", 0.125, "Polygon", 7.0),
        ("GEOMETRYCOLLECTION(POLYGON((0 0,2 2,2 0,0 2,0 0)),POINT(5 5))", 1.0, "GeometryCollection", 2.0),
        ("MULTILINESTRING((0 0,0 0),(1 1,2 2))", 0.0, "LineString", 0.0),
    ],
)
def test_repair_and_what_it_changed(text: str, change: float, kind: str, result: float | None) -> None:
    before = one(text.encode())
    found = one(text.encode(), repair=True)
    assert (before["is_valid"], found["is_valid"], found["is_repaired"]) == (False, True, True)
    assert found["geometry_type"] == kind
    geometry = shapely.from_wkb(found["geometry"])
    assert shapely.is_valid(geometry) and geometry.geom_type == kind
    assert found["area_change"] == pytest.approx(change, abs=1e-6)
    assert result is None or geometry.area == pytest.approx(result)
    assert found["problem"] == f"repaired: {before['problem']}"


@pytest.mark.parametrize(
    "text",
    [
        # Nothing of its dimension would be left.
        "POLYGON((0 0,1 1,0 0,1 1,0 0))",
        "LINESTRING(1 2,1 2)",
        "POLYGON((0 0,1 0,1 1,0 1,0 0),(-1 -1,3 -1,3 3,-1 3,-1 -1))",
    ],
)
def test_what_collapses_stays_invalid(text: str) -> None:
    found = one(text.encode(), repair=True)
    assert (found["is_valid"], found["is_repaired"], found["area_change"]) == (False, False, None)
    assert found["geometry"] == shapely.to_wkb(shapely.from_wkt(text))
    assert found["problem"] and not found["problem"].startswith("repaired")


def test_repair_leaves_valid_geometry_alone() -> None:
    value = shapely.to_wkb(shapely.box(0, 0, 1, 1))
    found = one(value, repair=True)
    assert (found["geometry"], found["is_repaired"], found["problem"]) == (value, False, None)


def test_area_change_of_numbers_too_large_for_an_area() -> None:
    found = one(b"POLYGON((0 0,1e308 1e308,1e308 0,0 1e308,0 0))", repair=True)
    assert (found["is_repaired"], found["area_change"]) in ((True, 1.0), (False, None))
    assert found["is_within_crs"] is False


# Its long edge is bent on the map, and the hole beside it lies outside of the straight one there.
CROSSING = b"POLYGON((2.5e6 2e6,6.5e6 2e6,6.5e6 5e6,2.5e6 5e6,2.5e6 2e6),(4e6 4.8e6,4e6 4.999e6,5e6 4.999e6,5e6 4.8e6,4e6 4.8e6))"


def test_valid_means_valid_in_the_target_too() -> None:
    assert shapely.is_valid(shapely.from_wkt(CROSSING.decode()))
    found = one(CROSSING, "EPSG:3035")
    assert (found["is_within_crs"], found["is_valid"]) == (True, False)
    assert found["problem"].endswith(" after transformation to EPSG:4326")
    assert not shapely.is_valid(shapely.from_wkb(found["geometry"]))


def test_repair_in_the_target() -> None:
    found = one(CROSSING, "EPSG:3035", repair=True)
    assert (found["is_valid"], found["is_repaired"]) == (True, True)
    assert found["problem"].startswith("repaired: ") and found["problem"].endswith("to EPSG:4326")
    assert shapely.is_valid(shapely.from_wkb(found["geometry"]))
    assert 0 < found["area_change"] <= 1


def test_repair_before_the_transformation() -> None:
    """The repaired geometry's own coordinates are transformed, not those that came."""
    found = one(b"POLYGON((0 0,200000 200000,200000 0,0 200000,0 0))", "EPSG:3857", repair=True)
    geometry = shapely.from_wkb(found["geometry"])
    assert geometry.geom_type == "MultiPolygon" and len(shapely.get_coordinates(geometry)) == 8
    assert geometry.bounds[2] == pytest.approx(200_000 / 111_319.490793)


@pytest.mark.parametrize(
    ("value", "crs", "problem"),
    [
        (b"oops", "LOCAL:1", "WKT: Unknown type: 'OOPS'"),
        (b"POINT EMPTY", "LOCAL:1", "Point is empty"),
        (BOW_TIE, "LOCAL:1", "Self-intersection at 1 1"),
        (BOW_TIE, "EPSG:32633", "Self-intersection at 1 1"),
        (b"POINT(1 2)", "LOCAL:1", "CRS LOCAL:1 is not known to PROJ"),
        (b"POINT(1 2)", "EPSG:32633", "x 1 is outside 54535..945465 of EPSG:32633"),
    ],
)
def test_the_first_problem_counts(value: bytes, crs: str, problem: str) -> None:
    assert one(value, crs)["problem"] == problem


def test_what_was_repaired_is_the_last_problem() -> None:
    assert one(BOW_TIE, "LOCAL:1", repair=True)["problem"] == "CRS LOCAL:1 is not known to PROJ"
    assert one(BOW_TIE, "EPSG:32633", repair=True)["problem"].startswith("x ")
    assert one(BOW_TIE, repair=True)["problem"] == "repaired: Self-intersection at 1 1"


def test_without_a_known_crs_there_is_no_geometry() -> None:
    found = one(b"POINT(1 2)", "LOCAL:1")
    assert (found["is_readable"], found["is_valid"], found["geometry_type"]) == (True, True, "Point")
    assert (found["is_crs_known"], found["is_within_crs"], found["geometry"]) == (False, None, None)


NAN, INF = float("nan"), float("inf")


def test_points() -> None:
    x = pd.Series([16.5, None, 16.5, None, INF, 16.5, 185, 16.5, 16.5])
    y = pd.Series([48.25, 48.25, None, None, 48.25, -INF, 48.25, 48.25, 48.25])
    crs = pd.Series(["EPSG:4326"] * 7 + [None, "LOCAL:1"])
    found = examine_points(x, y, crs)
    assert found["has_geometry"].tolist() == [True, False, False, False, True, True, True, True, True]
    null = pd.NA
    assert found["is_readable"].tolist() == [True, null, null, null, False, False, True, True, True]
    assert found["is_valid"].tolist() == [True, null, null, null, null, null, True, True, True]
    assert found["is_within_crs"].tolist() == [True, null, null, null, null, null, False, null, null]
    point = shapely.to_wkb(shapely.Point(16.5, 48.25))
    assert found["geometry"].tolist() == [point] + [None] * 8
    assert found["geometry_type"].tolist() == ["Point"] + [None] * 5 + ["Point"] * 3
    assert found["problem"].tolist() == [
        None,
        None,
        None,
        None,
        "coordinate x is inf, which is no place",
        "coordinate y is -inf, which is no place",
        "x 185 is outside -180..180 of EPSG:4326",
        "no CRS is declared",
        "CRS LOCAL:1 is not known to PROJ",
    ]
    assert found["excerpt"].tolist() == [
        "16.5 48.25",
        "null 48.25",
        "16.5 null",
        None,
        "inf 48.25",
        "16.5 -inf",
        "185 48.25",
        "16.5 48.25",
        "16.5 48.25",
    ]


def test_points_are_what_wkb_of_them_is() -> None:
    rng = np.random.default_rng(5)
    xy = rng.uniform([-1000, -200], [1_000_000, 9_000_000], (300, 2))
    xy[:100] = rng.uniform([-190, -95], [190, 95], (100, 2))
    crs = rng.choice(np.array(["EPSG:4326", "EPSG:32633", "EPSG:3857", "LOCAL:1", None], dtype=object), 300)
    values = shapely.to_wkb(shapely.points(xy))
    for axis_order in ("xy", "authority"):
        of_points = examine_points(*xy.T, crs, axis_order=axis_order).drop(columns="excerpt")
        of_values = examine(values, crs, axis_order=axis_order).drop(columns="excerpt")
        pd.testing.assert_frame_equal(of_points, of_values)
        assert of_points["geometry"].notna().sum() > 50


@pytest.mark.parametrize(
    "values", [pd.Series([1, None], dtype="Int64"), [1, None], np.array([1, NAN]), ["1", "x"]]
)
def test_points_from_other_types_of_numbers(values: Any) -> None:
    found = examine_points(values, values, ["EPSG:4326"] * 2)
    assert found["has_geometry"].tolist() == [True, False]
    assert found["excerpt"].tolist() == ["1 1", None]


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="must be of one length, got 1 and 2"):
        examine([b""], ["EPSG:4326", None])
    with pytest.raises(ValueError, match="must be of one length, got 1 and 2"):
        examine_points([1], [1], ["EPSG:4326", None])


MIXED = [None, b"", b"POINT(1 2)", BOW_TIE, b"POINT EMPTY", b"\xff", b"POINT(500 2)", BOW_TIE]
ARROW = {"boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(), "double": pa.float64()}


def spark_fields() -> dict[str, str]:
    body = re.fullmatch(r"struct<(.*)>", SPARK_TYPE)
    assert body
    return dict(field.split(": ") for field in body[1].split(", "))


def test_the_type_is_the_one_agreed() -> None:
    assert SPARK_TYPE == (
        "struct<has_geometry: boolean, is_readable: boolean, is_empty: boolean, geometry_type: string, "
        "is_valid: boolean, is_repaired: boolean, area_change: double, crs: string, is_crs_known: boolean, "
        "is_within_crs: boolean, is_side_known: boolean, geometry: binary, problem: string, excerpt: string>"
    )


@pytest.mark.parametrize("count", [0, 1, len(MIXED)])
@pytest.mark.parametrize("of", ["values", "nulls", "points"])
def test_spark_s_own_serializer_takes_the_table(count: int, of: str) -> None:
    crs = pd.Series(["EPSG:4326"] * count, dtype=object)
    if of == "points":
        numbers = pd.Series([NAN, INF, 1.0, 2.0, 3.0, 185.0, -1.0, NAN][:count], dtype=float)
        frame = examine_points(numbers, numbers, crs)
    else:
        values = MIXED[:count] if of == "values" else [None] * count
        frame = examine(pd.Series(values, dtype=object), crs, repair=True)
    kind = pa.struct([(name, ARROW[kind]) for name, kind in spark_fields().items()])
    assert list(frame.columns) == list(spark_fields())
    batch = ArrowStreamPandasUDFSerializer("UTC", True, True)._create_batch([(frame, kind)])
    assert batch.column(0).type == kind
    assert batch.column(0).to_pylist() == [row_of(frame, row) for row in range(count)]


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    values = [
        *MIXED,
        b"POINT(1e999 1)",
        b"CIRCULARSTRING(0 0,1 1,2 0)",
        b"POLYGON((0 0,1e308 1e308,1e308 0,0 1e308,0 0))",
    ]
    for crs in ("EPSG:4326", "EPSG:2056", "+init=epsg:4326", "oops[", "+proj=oops"):
        examine(values, [crs] * len(values), repair=True)
    assert capfd.readouterr() == ("", "")


def test_the_input_is_left_as_it_was() -> None:
    values = pd.Series(MIXED, dtype=object)
    crs = pd.Series(["EPSG:3857"] * len(MIXED))
    examine(values, crs, repair=True)
    assert values.tolist() == MIXED and set(crs) == {"EPSG:3857"}
    x = pd.Series([1.0, NAN])
    examine_points(x, x, ["EPSG:3857"] * 2, axis_order="authority")
    assert x.tolist()[0] == 1.0 and np.isnan(x[1])


def test_a_repair_that_needs_two_passes() -> None:
    """Of this needle GEOS makes two parts with an edge in common at first, which is not valid."""
    needle = "POLYGON ((15 48, 15.1 48, 15.1 48.1, 15.05 48.1, 15.0501 48.2, 15.0499 48.2, 15.0502 48.1, 15 48.1, 15 48))"
    row = examine([needle.encode()], ["EPSG:4326"], repair=True).iloc[0]
    assert row["is_repaired"] and row["is_valid"]
    assert shapely.from_wkb(row["geometry"]).is_valid
    assert 0 < row["area_change"] < 0.01
