"""What landed geometry is worth, as one struct a row: see geostrata.geometry. A malformed value is an answer, never a failed job."""

import pandas as pd
from dbt.adapters.sedona.python_macros import returns

from geostrata.geometry import SPARK_TYPE

# The axis order of those who don't name one: x (east, longitude) first.
_XY = pd.Series(["xy"])


@returns(SPARK_TYPE)
def examine_geometry(value: pd.Series, crs: pd.Series, axis_order: pd.Series = _XY) -> pd.DataFrame:
    """Examines a binary `value` (text encodings: cast to binary) in the declared `crs`; `axis_order` is one text for all rows."""
    from geostrata.geometry import examine

    return examine(value, crs, axis_order=_constant(axis_order))


@returns(SPARK_TYPE)
def repair_geometry(value: pd.Series, crs: pd.Series, axis_order: pd.Series = _XY) -> pd.DataFrame:
    """As examine_geometry, and makes invalid geometry valid."""
    from geostrata.geometry import examine

    return examine(value, crs, axis_order=_constant(axis_order), repair=True)


@returns(SPARK_TYPE)
def examine_point(x: pd.Series, y: pd.Series, crs: pd.Series, axis_order: pd.Series = _XY) -> pd.DataFrame:
    """As examine_geometry, for a point in two columns of numbers."""
    from geostrata.geometry import examine_points

    return examine_points(x, y, crs, axis_order=_constant(axis_order))


def _constant(text: pd.Series) -> str:
    # A batch may be empty.
    return text.iloc[0] if len(text) else "xy"
