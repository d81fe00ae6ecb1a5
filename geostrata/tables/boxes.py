"""How the boxes of files lie over each other: what a query by place has to read.

Boxes are rows of xmin, ymin, xmax, ymax. A side of no length counts as a millionth of the extent's: a file of one point has
a place, and covers next to nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import shapely

Boxes = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float64]

_LEAST_SIDE = 1e-6
# Pairs of boxes compared at once: 32 MB of numbers.
_PAIRS = 1 << 22


def extent(boxes: Boxes) -> tuple[float, float, float, float]:
    least, most = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    return float(least[0]), float(least[1]), float(most[0]), float(most[1])


def with_area(boxes: Boxes) -> Boxes:
    """The same boxes, each with an area."""
    xmin, ymin, xmax, ymax = extent(boxes)
    least = _LEAST_SIDE * np.array([xmax - xmin or 1.0, ymax - ymin or 1.0])
    grown = boxes.copy()
    grown[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + least)
    return grown


def overlap_depth(boxes: Boxes) -> float:
    """Mean number of boxes over a point, of all points that are in a box: sum of their areas by the area of their union."""
    if not len(boxes):
        return 0.0
    grown = with_area(boxes)
    union = shapely.union_all(shapely.box(grown[:, 0], grown[:, 1], grown[:, 2], grown[:, 3])).area
    return float(_areas(grown).sum() / union)


def depth_within(boxes: Boxes) -> Numbers:
    """Of each box: the mean number of boxes, itself included, over a point in it."""
    if not len(boxes):
        return np.empty(0)
    grown = with_area(boxes)
    areas = _areas(grown)
    rows = max(1, _PAIRS // len(grown))
    parts = [
        _shared_areas(grown[start : start + rows], grown).sum(axis=1) for start in range(0, len(grown), rows)
    ]
    return np.concatenate(parts) / areas


def windows(boxes: Boxes, per_side: int) -> Boxes:
    """The extent cut into windows of equal size, per_side in each direction."""
    xmin, ymin, xmax, ymax = extent(with_area(boxes))
    xs, ys = np.linspace(xmin, xmax, per_side + 1), np.linspace(ymin, ymax, per_side + 1)
    return np.array([[xs[i], ys[j], xs[i + 1], ys[j + 1]] for j in range(per_side) for i in range(per_side)])


def hits(boxes: Boxes, asked: Boxes) -> npt.NDArray[np.bool_]:
    """Which boxes a query for a window must read, borders included: a row a window, a column a box."""
    return (
        (boxes[None, :, 0] <= asked[:, None, 2])
        & (boxes[None, :, 2] >= asked[:, None, 0])
        & (boxes[None, :, 1] <= asked[:, None, 3])
        & (boxes[None, :, 3] >= asked[:, None, 1])
    )


def shares(boxes: Boxes, asked: Boxes) -> Numbers:
    """What part of each box lies in each window: a row a window, a column a box."""
    grown = with_area(boxes)
    return _shared_areas(asked, grown) / _areas(grown)


def _areas(boxes: Boxes) -> Numbers:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def _shared_areas(ones: Boxes, others: Boxes) -> Numbers:
    """Of each of the ones with each of the others."""
    width = np.minimum(ones[:, None, 2], others[None, :, 2]) - np.maximum(
        ones[:, None, 0], others[None, :, 0]
    )
    height = np.minimum(ones[:, None, 3], others[None, :, 3]) - np.maximum(
        ones[:, None, 1], others[None, :, 1]
    )
    return np.maximum(width, 0) * np.maximum(height, 0)
