"""Which geometries are valid, why others are not, and which of those were repaired."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import shapely

from geostrata.geometry.arrays import Flags, Floats, Ints, Objects, by_halves
from geostrata.geometry.rendering import printable
from geostrata.geometry.repairing import repair
from geostrata.geometry.tangles import CROSSINGS, is_tangled


@dataclass
class Validity:
    """By row, with the problems of what stays invalid, as landed or only in the target, and of what was repaired."""

    wants_repair: bool
    is_valid: Flags
    is_repaired: Flags
    area_change: Floats
    problems: dict[int, str] = field(default_factory=dict)
    problems_in_target: dict[int, str] = field(default_factory=dict)
    repairs: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, count: int, wants_repair: bool) -> Validity:
        flags = np.zeros(count, dtype=bool)
        return cls(wants_repair, flags, flags.copy(), np.zeros(count))

    def check(self, rows: Ints, geometries: Objects, target: str | None = None) -> Objects:
        """The geometries, repaired where that is wanted and possible; `target` is the CRS that they are in now."""
        is_valid = by_halves(shapely.is_valid, geometries, False).astype(bool)
        self.is_valid[rows] = is_valid
        invalid = np.flatnonzero(~is_valid)
        if not invalid.size:
            return geometries
        where = f" after transformation to {target}" if target else ""
        found = dict(zip(rows[invalid].tolist(), _reasons(geometries[invalid], where), strict=True))
        if self.wants_repair:
            geometries[invalid] = self._repaired(rows[invalid], geometries[invalid], found)
        (self.problems_in_target if target else self.problems).update(found)
        return geometries

    def _repaired(self, rows: Ints, geometries: Objects, found: dict[int, str]) -> Objects:
        """Moves from `found` to `repairs` what could be repaired."""
        tangled = is_tangled(geometries)
        for row in rows[tangled].tolist():
            found[row] = printable(f"{found[row]}, and more than {CROSSINGS:,} crossings: too many to repair")
        rows, given = rows[~tangled], geometries
        geometries = given[~tangled]
        result = repair(geometries)
        mended = rows[result.is_repaired]
        self.is_valid[mended] = self.is_repaired[mended] = True
        # A row may be repaired as landed and again in the target.
        change = self.area_change[mended] + result.area_change[result.is_repaired]
        self.area_change[mended] = np.minimum(change, 1.0)
        for row in mended.tolist():
            self.repairs.setdefault(row, printable(f"repaired: {found.pop(row)}"))
        given[~tangled] = result.geometries
        return given


def _reasons(geometries: Objects, where: str) -> list[str]:
    """GEOS's words: Self-intersection at 16.37 48.21."""
    found = by_halves(shapely.is_valid_reason, geometries, "Invalid[?]")
    return [printable(str(reason).replace("[", " at ").rstrip("]") + where) for reason in found]
