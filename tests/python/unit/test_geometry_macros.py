"""The SQL functions of macros/python/geometry.py, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import shapely
from dbt.adapters.sedona import python_macros
from pyspark import cloudpickle

from geostrata.geometry import SPARK_TYPE

FILE = Path(__file__).parents[3] / "macros" / "python" / "geometry.py"
BOW_TIE = shapely.to_wkb(shapely.from_wkt("POLYGON((0 0,2 2,2 0,0 2,0 0))"))
FUNCTIONS = {
    function.__name__: function for function in python_macros.public_functions(python_macros.load(FILE))
}


def series(*values: Any) -> pd.Series:
    return pd.Series(values, dtype=object)


def test_the_functions_and_their_type() -> None:
    assert set(FUNCTIONS) == {"examine_geometry", "repair_geometry", "examine_point"}
    for function in FUNCTIONS.values():
        assert python_macros.return_type(FILE, function) == SPARK_TYPE
        assert python_macros.is_vectorised(function)


def test_repair_is_on_in_one_of_them_only() -> None:
    given = series(BOW_TIE), series("EPSG:4326")
    assert FUNCTIONS["examine_geometry"](*given)["is_repaired"].tolist() == [False]
    assert FUNCTIONS["repair_geometry"](*given)["is_repaired"].tolist() == [True]


def test_the_axis_order_is_one_text_for_all_rows() -> None:
    value, crs = series(b"POINT(48 16)", b"POINT(50 16)"), series("EPSG:4326", "EPSG:4326")
    order = series("authority", "authority")
    numbers = pd.Series([48.0, 50.0]), pd.Series([16.0, 16.0])
    for found in (
        FUNCTIONS["examine_geometry"](value, crs, order),
        FUNCTIONS["repair_geometry"](value, crs, order),
        FUNCTIONS["examine_point"](*numbers, crs, order),
    ):
        assert shapely.get_coordinates(shapely.from_wkb(found["geometry"])).tolist() == [[16, 48], [16, 50]]
    plain = FUNCTIONS["examine_point"](*numbers, crs)
    assert shapely.get_coordinates(shapely.from_wkb(plain["geometry"])).tolist() == [[48, 16], [50, 16]]
    with pytest.raises(ValueError, match="axis_order must be one of xy, authority, got 'yx'"):
        FUNCTIONS["examine_geometry"](value, crs, series("yx", "yx"))


def test_an_empty_batch() -> None:
    for name, function in FUNCTIONS.items():
        given = [series()] * (3 if name == "examine_point" else 2)
        assert len(function(*given)) == len(function(*given, series())) == 0


def test_workers_get_the_functions_whole() -> None:
    """Spark pickles them; the file itself is not on a worker's path."""
    for name, function in FUNCTIONS.items():
        there = cloudpickle.loads(cloudpickle.dumps(function))
        given = [series(1.0), series(2.0)] if name == "examine_point" else [series(b"POINT(1 2)")]
        assert there(*given, series("EPSG:4326"))["geometry"].tolist() == [
            shapely.to_wkb(shapely.Point(1, 2))
        ]
