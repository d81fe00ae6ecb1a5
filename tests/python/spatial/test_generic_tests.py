"""The generic tests of coverages: each must pass on what is right, fail on what is wrong, and agree with shapely on random shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from coverages import TOWN, cells
from workbench import Workbench

from geostrata.spatial.areas import area_m2


def blobs(seed: int, count: int, size: float) -> Any:
    chance = np.random.default_rng(seed)
    return shapely.buffer(
        shapely.points(chance.uniform((10, 48), (11, 49), (count, 2))), chance.uniform(size / 5, size, count)
    )


def table_of(shapes: Any, **more: Any) -> pa.Table:
    wkb = pa.array(list(shapely.to_wkb(np.array(shapes, dtype=object))), pa.binary())
    return pa.table({"cell_id": pa.array(range(len(shapes))), **more, "geometry": wkb})


@pytest.fixture(scope="module")
def town(bench: Workbench) -> str:
    return bench.table("town", pa.table({"town_id": ["one"], "geometry": [shapely.to_wkb(TOWN)]}))


def failures(bench: Workbench, shapes: Any, *tests: dict[str, Any], **more: Any) -> list[int]:
    return bench.test(
        "tested", f"select * from {bench.table('to_test', table_of(shapes, **more))}", list(tests)
    )


def test_a_good_coverage_passes_all(bench: Workbench, town: str) -> None:
    # A line and what has no place are no harm.
    good = [*cells(), None, shapely.Polygon()]
    found = failures(
        bench,
        good,
        {"no_overlaps": {"key": "cell_id"}},
        {"no_gaps_within": {"outer": town, "key": "town_id"}},
        {"covered_by": {"to": town, "key": "cell_id"}},
        {"no_slivers": {"key": "cell_id"}},
        {"no_duplicate_geometry": {"key": "cell_id"}},
        {"within_distance_of": {"to": town, "key": "cell_id", "distance_m": 0}},
        {"is_topologically_valid": {"key": "cell_id"}},
        {"same_area_as": {"to": town}},
    )
    assert found == [0] * 8


def test_each_test_can_fail(bench: Workbench, town: str) -> None:
    """Each fault is one row of one test; some are faults to other tests as well."""
    good = cells()
    grown = shapely.buffer(good[40], 0.001)
    metre = np.degrees(1 / 6378137)
    outside = shapely.box(10.9, 48.9, 11.1, 49.1)
    strip = shapely.box(10.5, 48, 10.5 + metre / 10, 49)
    bow_tie = shapely.from_wkt("POLYGON((10 48,10.1 48.1,10.1 48,10 48.1,10 48))")
    again = shapely.reverse(good[7])
    line, far = shapely.LineString([(10.5, 48.5), (11.5, 48.5)]), shapely.Point(12, 50)
    within, same_area, slivers = "within_distance_of", "same_area_as", "no_slivers"
    key, to_town = {"key": "cell_id"}, {"to": town, "key": "cell_id"}
    cases: list[tuple[Any, list[tuple[str, dict[str, Any], int]]]] = [
        ([*good[:40], grown, *good[41:]], [("no_overlaps", key, 8)]),
        (
            np.delete(good, [30, 31, 100]),
            [
                ("no_gaps_within", {"outer": town, "key": "town_id"}, 2),
                (same_area, {"to": town}, 1),
                (same_area, {"to": town, "tolerance": 0.1}, 0),
            ],
        ),
        ([], [("no_gaps_within", {"outer": town, "key": "town_id"}, 1)]),
        (
            [*good, outside, far, line],
            [
                ("covered_by", to_town, 3),
                (within, to_town | {"distance_m": 100_000}, 1),
                (within, to_town | {"distance_m": 200_000}, 0),
            ],
        ),
        (
            [*good, strip],
            [(slivers, key, 1), (slivers, key | {"min_width_m": 0, "min_compactness": 0.01}, 1)],
        ),
        ([*good, again, good[8], good[8]], [("no_duplicate_geometry", {"key": ["cell_id", "side"]}, 3)]),
        ([*good, bow_tie], [("is_topologically_valid", key, 1)]),
    ]
    for shapes, tests in cases:
        side = pa.array(["left"] * len(shapes), pa.string())
        found = failures(bench, shapes, *({name: given} for name, given, _ in tests), side=side)
        assert found == [count for _, _, count in tests]


@pytest.mark.parametrize("seed", [1, 2])
def test_random_shapes_against_shapely(bench: Workbench, town: str, seed: int) -> None:
    given, cover = blobs(seed, 150, 0.05), blobs(seed + 10, 40, 0.15)
    given = np.append(given, given[:5])
    covers = bench.table("covers", table_of(cover))
    union = shapely.union_all(cover)
    pairs = [
        (i, j) for i in range(len(given)) for j in range(i)
        if area_m2([shapely.intersection(given[i], given[j])])[0] > 100
    ]  # fmt: skip
    outside = area_m2(shapely.difference(given, union))
    gaps = area_m2(shapely.get_parts(shapely.difference(TOWN, shapely.union_all(given))))
    found = failures(
        bench,
        given,
        {"no_overlaps": {"key": "cell_id", "tolerance_m2": 100}},
        {"covered_by": {"to": covers, "key": "cell_id"}},
        {"no_gaps_within": {"outer": town, "key": "town_id", "tolerance_m2": 10}},
        {"no_duplicate_geometry": {"key": "cell_id"}},
    )
    assert found == [len(pairs), (outside > 0.01).sum(), (gaps > 10).sum(), 5]
    assert min(found) > 0


def test_areas_by_key(bench: Workbench) -> None:
    given = cells()
    rows = pa.array((np.arange(len(given)) // 12).astype(str).tolist())
    bands = shapely.union_all(given.reshape(12, 12), axis=1)
    bands[3] = shapely.buffer(bands[3], 0.001)
    other = bench.table(
        "bands", pa.table({"band": [str(number) for number in range(1, 13)], "geometry": list(shapely.to_wkb(bands))})
    )  # fmt: skip
    # Band 0 is missing there and band 12 here; each other band is that of the row before: areas differ.
    shifted = failures(bench, given, {"same_area_as": {"to": other, "by": "row", "to_by": "band"}}, row=rows)
    named = bench.table(
        "named",
        pa.table({"row": [str(number) for number in range(12)], "geometry": list(shapely.to_wkb(bands))}),
    )
    matched = failures(bench, given, {"same_area_as": {"to": named, "by": "row"}}, row=rows)
    assert shifted == [13]
    assert matched == [1]
