"""What H3 can't do by bit arithmetic, on the h3 package: see geostrata.spatial.cells.

Cells come without nulls (pandas would turn a column with nulls into floating point, which has no room for a cell): 0 stands for one.
Of it, and of any other number that is no cell, the answer is null.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd
from dbt.adapters.sedona.python_macros import returns


@returns("binary")
def h3_cell_boundary(cell: pd.Series) -> pd.Series:
    import shapely

    from geostrata.spatial import cells

    return _of_valid(cell, lambda valid: shapely.to_wkb(cells.boundaries(valid)))


@returns("double")
def h3_cell_area_m2(cell: pd.Series) -> pd.Series:
    from geostrata.spatial import cells

    return _of_valid(cell, cells.areas_m2).astype(float)


@returns("int")
def h3_cell_distance(cell: pd.Series, other: pd.Series) -> pd.Series:
    from geostrata.spatial import cells

    return pd.Series(cells.distances(cell, other), dtype="Int32")


@returns("array<bigint>")
def h3_cells_over(geometry: pd.Series, resolution: pd.Series, mode: pd.Series) -> pd.Series:
    import shapely

    from geostrata.spatial import cells

    if geometry.empty:
        return geometry
    # What is no WKB is as good as missing.
    shapes = shapely.from_wkb(geometry.to_numpy(dtype=object, na_value=None), on_invalid="ignore")
    return pd.Series(cells.covers(shapes, int(resolution.iloc[0]), mode.iloc[0]), dtype=object)


@returns("array<bigint>")
def h3_compacted(cells: pd.Series) -> pd.Series:
    from geostrata.spatial.cells import compact

    return cells.map(lambda given: compact(_valid(given)), na_action="ignore").astype(object)


@returns("array<bigint>")
def h3_uncompacted(cells: pd.Series, resolution: pd.Series) -> pd.Series:
    from geostrata.spatial.cells import uncompact

    if cells.empty:
        return cells
    level = int(resolution.iloc[0])
    return cells.map(lambda given: uncompact(_valid(given), level), na_action="ignore").astype(object)


@returns("double")
def normal_p_value(z_score: pd.Series) -> pd.Series:
    """How likely a normal variable is at least so far from its mean, on either side."""
    from math import erfc, sqrt

    return z_score.map(lambda score: erfc(abs(score) / sqrt(2)), na_action="ignore").astype(float)


def _of_valid(cell: pd.Series, kernel: Callable[[Any], Any]) -> pd.Series:
    from geostrata.spatial import cells

    found = pd.Series(None, index=cell.index, dtype=object)
    is_valid = cells.is_valid(cell)
    found[is_valid] = kernel(cell.to_numpy()[is_valid])
    return found


def _valid(given: Any) -> Any:
    from geostrata.spatial import cells

    return given[cells.is_valid(given)]
