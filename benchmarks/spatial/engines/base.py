"""What every engine does: get ready, answer one case as often as asked, and go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.spatial.answers import Answer, neighbours
from benchmarks.spatial.cases import NEIGHBOURS, Case
from benchmarks.spatial.data import Data


class UnavailableError(Exception):
    """An engine that can't run here; the text says why."""


class Engine:
    def __init__(self, case: Case, data: Data, scratch: Path) -> None:
        self.case, self.data, self.scratch = case, data, scratch
        self.left = str(data.file(case.left))
        self.right = str(data.file(case.right)) if case.right else ""
        # Seconds of what is worth a row of its own, by that row's case, and figures to add to the case's row.
        self.steps: dict[str, float] = {}
        self.extras: dict[str, Any] = {}
        # Ends what the engine started.
        self.exits = ExitStack()

    def prepare(self) -> None:
        """Before the clock starts."""

    def reset(self) -> None:
        """Before each run, while the clock stands: undoes what the last one did."""

    def run(self) -> Answer | Callable[[], Answer]:
        """What the clock is for: the answer, or, where the outcome is a table, what reads the answer from it."""
        answer: Answer | Callable[[], Answer] = getattr(self, self.case.kind)()
        return answer


def by_spheroid(point_id: Any, facility_id: Any, from_x: Any, from_y: Any, to_x: Any, to_y: Any) -> Answer:
    """The nearest of some candidates, for engines without a distance on the spheroid."""
    from pyproj import Geod

    _, _, distance_m = Geod(ellps="WGS84").inv(from_x, from_y, to_x, to_y)
    order = np.lexsort((facility_id, distance_m, point_id))
    return nearest_of(point_id[order], facility_id[order], distance_m[order])


def nearest_of(point_id: Any, facility_id: Any, distance_m: Any) -> Answer:
    """Of rows by point and distance the first few of each point."""
    is_first = np.append(True, point_id[1:] != point_id[:-1])
    starts = np.flatnonzero(is_first)
    rank = np.arange(len(point_id)) - starts[np.cumsum(is_first) - 1]
    kept = rank < NEIGHBOURS
    return neighbours(point_id[kept], rank[kept], facility_id[kept], distance_m[kept])
