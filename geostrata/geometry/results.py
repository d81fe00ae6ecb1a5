"""The table that an examination gives: one row an input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from geostrata.geometry.arrays import Flags, Floats, Objects

_TYPES = {
    "has_geometry": "boolean",
    "is_readable": "boolean",
    "is_empty": "boolean",
    "geometry_type": "string",
    "is_valid": "boolean",
    "is_repaired": "boolean",
    "area_change": "double",
    "crs": "string",
    "is_crs_known": "boolean",
    "is_within_crs": "boolean",
    "is_side_known": "boolean",
    "geometry": "binary",
    "problem": "string",
    "excerpt": "string",
}
SPARK_TYPE = f"struct<{', '.join(f'{name}: {kind}' for name, kind in _TYPES.items())}>"

# By shapely's type ids; -1, the last, is no geometry. A ring by itself is a closed line.
GEOMETRY_TYPES = np.array(
    [
        "Point",
        "LineString",
        "LineString",
        "Polygon",
        "MultiPoint",
        "MultiLineString",
        "MultiPolygon",
        "GeometryCollection",
        None,
    ],
    dtype=object,
)


@dataclass
class Results:
    """By row. Which flags are null follows from the flags before them: see `frame`."""

    has_geometry: Flags
    is_readable: Flags
    is_empty: Flags
    geometry_type: Objects
    is_valid: Flags
    is_repaired: Flags
    area_change: Floats
    crs: Objects
    is_crs_known: Flags
    is_within_crs: Flags
    # Of the antimeridian.
    is_side_known: Flags
    geometry: Objects
    problem: Objects
    excerpt: Objects

    def frame(self) -> pd.DataFrame:
        """Types with a null of their own, which Arrow converts as they are."""
        read = self.has_geometry & self.is_readable
        placed = read & ~self.is_empty & self.is_crs_known
        columns = {
            "has_geometry": pd.array(self.has_geometry, dtype="boolean"),
            "is_readable": _nullable(self.is_readable, self.has_geometry),
            "is_empty": _nullable(self.is_empty, read),
            "geometry_type": self.geometry_type,
            "is_valid": _nullable(self.is_valid, read),
            "is_repaired": pd.array(self.is_repaired, dtype="boolean"),
            "area_change": pd.arrays.FloatingArray(self.area_change, ~self.is_repaired),
            "crs": self.crs,
            "is_crs_known": pd.array(self.is_crs_known, dtype="boolean"),
            "is_within_crs": _nullable(self.is_within_crs, placed),
            "is_side_known": _nullable(self.is_side_known, placed),
            "geometry": self.geometry,
            "problem": self.problem,
            "excerpt": self.excerpt,
        }
        return pd.DataFrame({name: columns[name] for name in _TYPES})


def _nullable(flags: Flags, is_given: Flags) -> pd.arrays.BooleanArray:
    return pd.arrays.BooleanArray(flags, ~is_given)
