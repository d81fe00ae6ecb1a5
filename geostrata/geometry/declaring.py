"""The CRS of each row of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from geostrata.geometry.arrays import Flags, Ints, Objects, objects
from geostrata.geometry.coordinate_systems import UNDECLARED, CoordinateSystem, coordinate_system


@dataclass(frozen=True)
class Declared:
    """The systems of the batch, and which of them each row has."""

    systems: list[CoordinateSystem]
    codes: Ints

    def names(self) -> Objects:
        return objects(system.name for system in self.systems)[self.codes]

    def is_known(self) -> Flags:
        return np.array([system.is_known for system in self.systems])[self.codes]

    def problems(self) -> Objects:
        return objects(system.problem for system in self.systems)[self.codes]


def declared(crs: Any, srids: Ints | None = None) -> Declared:
    """What the rows declare; for rows that declare nothing, the SRID that came in the value (0: none)."""
    texts = objects(crs)
    try:
        codes, distinct = pd.factorize(texts)
    except TypeError:
        codes, distinct = pd.factorize(objects(None if text is None else str(text) for text in texts))
    systems = [coordinate_system(str(text)) for text in distinct]
    systems.append(UNDECLARED)
    codes = codes.astype(np.int64)
    codes[codes < 0] = len(systems) - 1
    if srids is not None and srids.any():
        is_open = np.array([system is UNDECLARED for system in systems])[codes] & (srids > 0)
        for srid in np.unique(srids[is_open]):
            codes[is_open & (srids == srid)] = len(systems)
            systems.append(coordinate_system(f"EPSG:{srid}"))
    return Declared(systems, codes)
