"""The coordinate reference systems of the demo: which drop uses which, and how to convert."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyproj
import shapely

from geostrata.demo.noise import Floats

WGS84 = "EPSG:4326"
WEB_MERCATOR = "EPSG:3857"
# The town is laid out in this one, in metres.
UTM_33N = "EPSG:32633"

# 7 decimals of a degree are about a centimetre, as 2 decimals of a metre.
_DECIMALS = {WGS84: 7, WEB_MERCATOR: 2, UTM_33N: 2}


@cache
def _transformer(source: str, target: str) -> pyproj.Transformer:
    return pyproj.Transformer.from_crs(source, target, always_xy=True)


@cache
def projjson(crs: str) -> dict[str, Any]:
    """The definition that GeoParquet's metadata carries."""
    definition: dict[str, Any] = pyproj.CRS.from_user_input(crs).to_json_dict()
    return definition


def rounded(coordinates: Floats, crs: str) -> Floats:
    return np.round(coordinates, _DECIMALS[crs])


def convert(coordinates: Floats, source: str, target: str) -> Floats:
    """Coordinates (n, 2) in another CRS, rounded as files of that CRS are."""
    if source != target:
        x, y = _transformer(source, target).transform(coordinates[:, 0], coordinates[:, 1])
        coordinates = np.column_stack([x, y])
    return rounded(coordinates, target)


def convert_geometry(geometry: Any, source: str, target: str) -> Any:
    return shapely.transform(geometry, lambda xy: convert(xy, source, target))
