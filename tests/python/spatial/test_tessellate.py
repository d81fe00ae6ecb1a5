"""Points joined with a tessellation by their stored cell, judged by Sedona on the chips, against GEOS on the whole shapes."""

from __future__ import annotations

from typing import Any

import h3.api.basic_int as h3
import numpy as np
import pyarrow as pa
import pytest
import shapely
from workbench import Workbench

RESOLUTION = 8

# As docs/spatial-sql/tessellate.md has it.
JOIN = """
with cells as (select *, st_geomfromwkb(chip) as area from {{{{ ref('{cells}') }}}})

select points.point_id, cells.shape_id
from {points} as points
inner join cells
    on points.h3 = cells.h3
where cells.is_core or {predicate}(cells.area, st_geomfromwkb(points.geometry))
"""


def shapes() -> list[Any]:
    chance = np.random.default_rng(5)
    made: list[Any] = []
    for number in range(24):
        corners = int(chance.integers(3, 200))
        turn = np.sort(chance.uniform(0, 2 * np.pi, corners))
        size = 0.04 * chance.uniform(0.6, 1, corners)
        middle = (
            chance.uniform((10, 48), (10.2, 48.2)) if number % 4 else np.array([180.0, -17 + 0.02 * number])
        )
        ring = middle + size[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
        shape = shapely.make_valid(shapely.Polygon(ring))
        if number % 4 == 0:
            world = shapely.box(-180, -90, 180, 90)
            turned = shapely.transform(shape, lambda xy: xy - (360, 0))
            shape = shapely.union(shapely.intersection(shape, world), shapely.intersection(turned, world))
        elif number % 4 == 1:
            shape = shapely.difference(shape, shapely.box(*middle - 0.008, *middle + 0.008))
        made.append(shape)
    made.append(shapely.box(10.05, 48.05, 10.15, 48.15))
    made.append(shapely.Polygon([(10, 48), (10.2, 48.1), (10.2, 48.10001)]))
    # Large enough to be cut up first, with a long edge.
    made.append(shapely.Polygon([(8, 47), (12, 47.1), (11, 48.7), (10.1, 48.1), (9, 49)]))
    return made


def places(given: list[Any]) -> Any:
    chance = np.random.default_rng(6)
    corners = shapely.get_coordinates(given)
    start = chance.integers(0, len(corners) - 1, 4000)
    along = (
        corners[start]
        + (corners[start + 1] - corners[start]) * chance.choice([0.5, 0.25, 1 / 3], 4000)[:, None]
    )
    even = chance.uniform((9.9, 47.9), (10.3, 48.3), (6000, 2))
    far = chance.uniform((8, 47), (12, 49), (2000, 2))
    over = np.column_stack(
        [
            chance.choice([-180, 180], 2000) * chance.uniform(0.9998, 1, 2000),
            chance.uniform(-17.1, -16.4, 2000),
        ]
    )
    xy = np.concatenate([corners, along, even, far, over, [(180.0, -16.9), (-180.0, -16.9)]])
    xy = np.concatenate([xy, np.nextafter(corners, chance.choice([-1000, 1000], corners.shape))])
    return xy[(np.abs(xy[:, 0]) <= 180) & (np.abs(xy[:, 1]) <= 90)]


@pytest.fixture(scope="module")
def joined(bench: Workbench) -> tuple[list[Any], Any, dict[str, pa.Table]]:
    given = shapes()
    assert shapely.is_valid(given).all()
    none = [None, shapely.Polygon(), shapely.Point(10.1, 48.1), shapely.LineString([(10, 48), (10.2, 48.2)])]
    names = [f"shape {number}" for number in range(len(given) + len(none))]
    zones = bench.table(
        "zones", pa.table({"shape_id": names, "shape": pa.array(shapely.to_wkb(given + none), pa.binary())})
    )
    xy = places(given)
    cells = [h3.latlng_to_cell(lat, lon, RESOLUTION) for lon, lat in xy.tolist()]
    points = bench.table(
        "points",
        pa.table(
            {
                "point_id": np.arange(len(xy)),
                "geometry": shapely.to_wkb(shapely.points(xy)),
                "h3": pa.array(cells, pa.int64()),
            }
        ),
    )
    made = bench.run(
        {
            "cells": f"select * from {{{{ tessellate('{zones}', 'shape_id', {RESOLUTION}, geometry='shape') }}}}",
            "contained": JOIN.format(points=points, cells="cells", predicate="st_contains"),
            "touched": JOIN.format(points=points, cells="cells", predicate="st_intersects"),
        }
    )
    return given, xy, made


@pytest.mark.parametrize(
    ("model", "test"), [("contained", shapely.contains_xy), ("touched", shapely.intersects_xy)]
)
def test_pairs_are_those_of_the_whole_shapes(joined: Any, model: str, test: Any) -> None:
    given, xy, made = joined
    found = made[model].to_pydict()
    pairs = list(zip(found["point_id"], found["shape_id"], strict=True))
    expected = {
        (int(point), f"shape {number}")
        for number, shape in enumerate(given)
        for point in np.flatnonzero(test(shape, *xy.T))
    }
    assert len(expected) > 3000
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected


def test_core_cells_have_no_chip_and_shapes_without_area_no_cells(joined: Any) -> None:
    given, _, made = joined
    cells = made["cells"]
    assert cells.column_names == ["shape_id", "h3", "is_core", "chip"]
    rows = cells.to_pylist()
    assert all(row["is_core"] == (row["chip"] is None) for row in rows)
    assert len({(row["shape_id"], row["h3"]) for row in rows}) == len(rows)
    assert {row["shape_id"] for row in rows} == {f"shape {number}" for number in range(len(given))}


def test_the_log_says_which_resolution_was_chosen(bench: Workbench) -> None:
    area = shapely.box(10, 48, 10.1, 48.1)
    zones = bench.table("one_zone", pa.table({"id": [1], "geometry": [shapely.to_wkb(area)]}))
    lines = [
        line
        for line in bench.told(f"select * from {{{{ tessellate('{zones}', 'id') }}}}")
        if "tessellate in" in line
    ]
    assert len(lines) == 1
    assert (
        "resolution 9, where the middle one of 1 shapes, 82.7 km2, has about 785 cells (at most 1,000)"
        in lines[0]
    )
    none = bench.table(
        "no_zone", pa.table({"id": pa.array([], pa.int64()), "geometry": pa.array([], pa.binary())})
    )
    assert any(
        "no polygon to go by" in line
        for line in bench.told(f"select * from {{{{ tessellate('{none}', 'id') }}}}")
    )


def test_wrong_arguments_are_named(bench: Workbench) -> None:
    zones = bench.table(
        "two_zones", pa.table({"id": [1], "geometry": [shapely.to_wkb(shapely.box(0, 0, 1, 1))]})
    )
    wrong = f"select * from {{{{ tessellate('{zones}', %s) }}}}"
    assert "tessellate: resolution must be 0-15, got 99" in bench.error(wrong % "'id', 99")
    assert "tessellate: the relation has no column zone_id; it has id, geometry" in bench.error(
        wrong % "'zone_id', 8"
    )
    assert "tessellate: key must not be called" in bench.error(wrong % "'h3', 8")
