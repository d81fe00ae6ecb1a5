"""Parses geometry that nobody vouches for: what can't be read becomes null, where Sedona's constructors would fail the job."""

import pandas as pd
import shapely
from dbt.adapters.sedona.python_macros import returns


@returns("binary")
def try_wkb(wkb: pd.Series) -> pd.Series:
    """The same geometry as plain two-dimensional WKB, or null if the bytes are no WKB."""
    return _two_dimensional_wkb(shapely.from_wkb(wkb.array, on_invalid="ignore"))


@returns("binary")
def try_geojson(text: pd.Series) -> pd.Series:
    """A GeoJSON geometry's text as two-dimensional WKB, or null if it can't be read."""
    return _two_dimensional_wkb(shapely.from_geojson(text.array, on_invalid="ignore"))


def _two_dimensional_wkb(geometries) -> pd.Series:  # type: ignore[no-untyped-def]  # an array of shapely's own objects
    return pd.Series(
        shapely.to_wkb(shapely.force_2d(geometries), output_dimension=2, byte_order=1), dtype="object"
    )
