"""The arrays that a batch is made of, and calls on all of one at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Objects = npt.NDArray[np.object_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def objects(items: Iterable[Any]) -> Objects:
    """An array of the items themselves: numpy would take a list of lists for two dimensions."""
    return np.fromiter(items, dtype=object)


def by_halves(function: Callable[[Objects], Any], items: Objects, otherwise: Any) -> Any:
    """A call on a whole array which one element would fail for all of them: halved until only that element
    gets `otherwise`. A sound array costs one call."""
    try:
        return function(items)
    except Exception:
        if len(items) == 1:
            return objects([otherwise])
        middle = len(items) // 2
        halves = [by_halves(function, half, otherwise) for half in (items[:middle], items[middle:])]
        return np.concatenate(halves)
