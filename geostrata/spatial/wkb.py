"""Geometry as it stands in a table, in numpy: whole columns of points without an object a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")])


def point_coordinates(column: Any) -> tuple[Any, Any] | None:
    """x and y of a column in which every value is a plain 2D point, little-endian as nearly all are; none of any other column."""
    column = _contiguous(column)
    size = len(column)
    if size == 0 or column.null_count:
        return None
    _, offsets, data = column.buffers()
    start, end = np.frombuffer(offsets, np.int32)[[column.offset, column.offset + size]]
    if end - start != size * _POINT.itemsize:
        return None
    records = np.frombuffer(data, np.uint8)[start:end].view(_POINT)
    # The sum of lengths fits; a column whose values differ in length has no such header in every place.
    if not ((records["order"] == 1) & (records["kind"] == 1)).all():
        return None
    if pc.min_max(pc.binary_length(column))["max"].as_py() != _POINT.itemsize:
        return None
    return np.ascontiguousarray(records["x"]), np.ascontiguousarray(records["y"])


def shapes_of(column: Any) -> Any:
    """Shapely's geometries; what is missing or can't be read is none."""
    return shapes_of_values(_contiguous(column).to_numpy(zero_copy_only=False))


def shapes_of_values(values: Any) -> Any:
    """The same of a sequence of bytes."""
    values = np.asarray(values, dtype=object)
    with np.errstate(invalid="ignore"):
        return np.asarray(shapely.from_wkb(values, on_invalid="ignore"), dtype=object)


def _contiguous(column: Any) -> Any:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.cast(pa.binary()) if column.type != pa.binary() else column
