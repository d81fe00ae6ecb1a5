"""Answers that can be compared: the pairs themselves by number, measures within a tolerance.

An answer is a set of columns. Whole numbers must be equal, row by row; floats may differ by what rounding in another library explains.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

Answer = dict[str, Any]

DISTANCE_M = 1e-3
# Of an area. Beside that, edges are straight in longitude and latitude for one engine, on an equal-area map or on the spheroid
# for another: by edges as long as a parcel that makes up to this many square metres, of two hundred thousand.
AREA_SHARE, EDGES_M2 = 1e-6, 12.0
# Smaller pieces are not counted in the summary: whether there is one at all may be a matter of rounding.
_COUNTED_M2 = 100.0


def pairs(shape_id: Any, count: Any, total: Any) -> Answer:
    """Of a join: how many points a shape has and the sum of their ids. Other pairs give other sums."""
    return _sorted({"shape_id": shape_id, "count": count, "sum_of_ids": total}, ["shape_id"])


def neighbours(point_id: Any, rank: Any, facility_id: Any, distance_m: Any) -> Answer:
    columns = {"point_id": point_id, "rank": rank, "facility_id": facility_id, "distance_m": distance_m}
    return _sorted(columns, ["point_id", "rank"])


def pieces(left_id: Any, right_id: Any, area_m2: Any) -> Answer:
    return _sorted({"left_id": left_id, "right_id": right_id, "area_m2": area_m2}, ["left_id", "right_id"])


def rows(point_id: Any) -> Answer:
    return _sorted({"point_id": point_id}, ["point_id"])


def summary(answer: Answer) -> str:
    """Rows, a checksum of the whole numbers and the sum of each float column, in so few digits that rounding does not show."""
    if "area_m2" in answer:
        kept = answer["area_m2"] >= _COUNTED_M2
        answer = {name: column[kept] for name, column in answer.items()}
    exact = hashlib.sha256()
    sums = []
    for name, column in answer.items():
        if column.dtype == np.float64:
            sums.append(f"{name} {column.sum():.5g}")
        else:
            exact.update(column.tobytes())
    size = len(next(iter(answer.values())))
    return ", ".join([f"{size} rows", exact.hexdigest()[:16], *sums])


def difference(one: Answer, other: Answer) -> str | None:
    """In words; none if they are equal."""
    if list(one) != list(other):
        return f"columns {list(one)} and {list(other)}"
    if "area_m2" in one:
        return _different_pieces(one, other)
    for name, column in one.items():
        if len(column) != len(other[name]):
            return f"{len(column)} rows and {len(other[name])}"
        allowed = DISTANCE_M if name == "distance_m" else 0
        wrong = np.abs(column - other[name]) > allowed
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            row = {key: values[at].item() for key, values in one.items()}
            return f"{name} differs in {wrong.sum()} rows of {len(column)}, first where {row}: {other[name][at].item()}"
    return None


def save(path: Path, answer: Answer) -> None:
    np.savez(path, **answer)


def load(path: Path) -> Answer:
    with np.load(path) as columns:
        return dict(columns)


def _different_pieces(one: Answer, other: Answer) -> str | None:
    """A piece that only one has is one of no area in the other."""
    keys = [answer["left_id"] << 32 | answer["right_id"] for answer in (one, other)]
    every = np.union1d(*keys)
    areas = np.zeros((2, len(every)))
    for row, key, answer in zip(areas, keys, (one, other), strict=True):
        row[np.searchsorted(every, key)] = answer["area_m2"]
    wrong = np.abs(areas[0] - areas[1]) > AREA_SHARE * areas.max(axis=0) + EDGES_M2
    if not wrong.any():
        return None
    at = int(np.flatnonzero(wrong)[0])
    pair = (int(every[at]) >> 32, int(every[at]) & 0xFFFFFFFF)
    return f"area_m2 differs in {wrong.sum()} pieces of {len(every)}, first of {pair}: {areas[0, at]} and {areas[1, at]}"


def _sorted(columns: Answer, keys: list[str]) -> Answer:
    typed = {
        name: np.asarray(column, np.float64 if name in ("distance_m", "area_m2") else np.int64)
        for name, column in columns.items()
    }
    order = np.lexsort([typed[key] for key in reversed(keys)])
    return {name: column[order] for name, column in typed.items()}
