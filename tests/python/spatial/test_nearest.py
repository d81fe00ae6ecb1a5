"""Nearest neighbours and snapping as models call them, against every pair measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from pyproj import Geod
from workbench import Workbench

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))
from spatial_shapes import awkward_shapes, random_shapes

from geostrata.spatial.geodesic import distance_m

GEOD = Geod(ellps="WGS84")


def rows(shapes: Any, key: str, ids: Any = None) -> pa.Table:
    ids = np.arange(len(shapes)) if ids is None else ids
    return pa.table(
        {
            key: ids,
            "said": [f"{key} {number}" for number in ids],
            "geometry": pa.array(shapely.to_wkb(shapes).tolist(), pa.binary()),
        }
    )


@pytest.fixture(scope="module")
def points() -> tuple[Any, Any]:
    """Some across the antimeridian, at a pole, in one place, and nowhere."""
    chance = np.random.default_rng(41)
    places = chance.uniform((-180, -90), (180, 90), (2, 300, 2))
    places[:, :80] = np.add(chance.normal(0, 0.5, (2, 80, 2)), (180, 10))
    places[:, 80:120, 1] = 90
    places[1, 120:140] = places[1, 140:160]
    places[..., 0] = (places[..., 0] + 180) % 360 - 180
    left, right = shapely.points(places)
    return np.append(left, [None, shapely.Point()]), np.append(right, [None])


@pytest.fixture(scope="module")
def shapes() -> tuple[Any, Any]:
    chance = np.random.default_rng(42)
    left = np.append(awkward_shapes(), shapely.points(chance.uniform(-5, 5, (60, 2))))
    return left, np.append(random_shapes(chance, 40), shapely.boundary(random_shapes(chance, 20)))


@pytest.fixture(scope="module")
def built(bench: Workbench, points: Any, shapes: Any) -> dict[str, pa.Table]:
    # Ids in another order than the rows.
    order = np.random.default_rng(43).permutation(len(points[1]))
    left, right = (
        bench.table("few", rows(points[0], "left_id")),
        bench.table("many", rows(points[1], "right_id", order)),
    )
    ours, theirs = (
        bench.table("ours", rows(shapes[0], "left_id")),
        bench.table("theirs", rows(shapes[1], "right_id")),
    )
    columns = "left_columns=['left_id'], right_columns={'right_id': 'near_id'}"
    lines = f"(select right_id, geometry from {theirs} where right_id >= 40)"
    spots = f"(select * from {ours} where left_id >= {len(awkward_shapes())})"
    models = {
        "near_points": f"select * from {{{{ nearest({left!r}, {right!r}, k=5, {columns}) }}}}",
        "near_within": f"select * from {{{{ nearest({left!r}, {right!r}, k=3, max_distance_m=200000, {columns}) }}}}",
        "near_shapes": f"select * from {{{{ nearest({ours!r}, {theirs!r}, k=3, {columns}) }}}}",
        "near_renamed": (
            f"select * from {{{{ nearest({left!r}, {right!r}, right_columns={{'said': 'said_of_it'}}, right_key='right_id') }}}}"
        ),
        "snapped": (
            f"select * from {{{{ snap_to_lines({spots!r}, {lines!r}, max_distance_m=100000, point_columns=['left_id']) }}}}"
        ),
        "by_sedona": (
            f"select few.left_id, many.right_id, st_distancespheroid(st_geomfromwkb(few.geometry), st_geomfromwkb(many.geometry)) as metres "
            f"from {left} as few cross join {right} as many where few.left_id < 60 and many.right_id < 60"
        ),
    }
    return bench.run(models)


def found(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [table[name].to_pylist() for name in ("left_id", "distance_rank", "near_id")]
    return sorted(zip(*columns, strict=True))


def expected(left: Any, right: Any, ids: Any, k: int, limit_m: float = 1e9) -> list[tuple[int, int, int]]:
    metres = np.nan_to_num(distance_m(left[:, None], right[None, :]), nan=np.inf)
    return [
        (number, rank, int(ids[at]))
        for number, row in enumerate(metres)
        for rank, at in enumerate([at for at in np.lexsort((ids, row)) if row[at] <= limit_m][:k], 1)
    ]


def test_nearest_points_are_those_of_every_pair_measured(built: dict[str, pa.Table], points: Any) -> None:
    order = np.random.default_rng(43).permutation(len(points[1]))
    assert found(built["near_points"]) == expected(*points, order, 5)
    assert found(built["near_within"]) == expected(*points, order, 3, 200_000)
    assert built["near_points"].column_names == ["left_id", "near_id", "distance_m", "distance_rank"]


def test_nearest_shapes_are_those_of_every_pair_measured(built: dict[str, pa.Table], shapes: Any) -> None:
    table = built["near_shapes"]
    assert found(table) == expected(*shapes, np.arange(len(shapes[1])), 3)
    left, right = (table[name].to_numpy() for name in ("left_id", "near_id"))
    metres = distance_m(np.array(shapes[0])[left], shapes[1][right])
    assert table["distance_m"].to_numpy() == pytest.approx(metres, abs=1e-9)


def test_by_default_all_of_the_left_comes_along(built: dict[str, pa.Table]) -> None:
    table = built["near_renamed"]
    assert table.column_names == ["left_id", "said", "geometry", "said_of_it", "distance_m", "distance_rank"]
    assert set(table["distance_rank"].to_pylist()) == {1}


def test_points_come_to_lie_on_their_nearest_line(built: dict[str, pa.Table], shapes: Any) -> None:
    table = built["snapped"]
    assert table.column_names == ["left_id", "right_id", "snapped_geometry", "distance_m", "position_m"]
    assert table.num_rows > 20
    lines = shapes[1][table["right_id"].to_numpy()]
    places = shapely.from_wkb(table["snapped_geometry"].to_pylist())
    spots = np.array(shapes[0])[table["left_id"].to_numpy()]
    metres = table["distance_m"].to_numpy()
    assert distance_m(spots, places) == pytest.approx(metres, abs=1e-6)
    assert distance_m(places, lines).max() < 1e-6
    assert metres.max() <= 100_000
    lengths = np.array([GEOD.geometry_length(line) for line in lines])
    assert (table["position_m"].to_numpy() <= lengths + 1e-3).all()


def test_sedona_measures_the_same_between_points(built: dict[str, pa.Table], points: Any) -> None:
    table = built["by_sedona"].filter(pa.compute.is_valid(built["by_sedona"]["metres"]))
    order = np.random.default_rng(43).permutation(len(points[1]))
    right = points[1][np.argsort(order)[table["right_id"].to_numpy()]]
    metres = distance_m(points[0][table["left_id"].to_numpy()], right)
    assert table.num_rows > 3_000
    assert table["metres"].to_numpy() == pytest.approx(metres, abs=1e-6, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("nearest(LEFT, RIGHT, k=0)", "nearest: k must be a whole number, 1 or more, got 0"),
        ("nearest(LEFT, RIGHT, k=1.5)", "nearest: k must be a whole number, 1 or more, got 1.5"),
        (
            "nearest(LEFT, RIGHT, max_distance_m=-1)",
            "nearest: max_distance_m must be none or a number of metres",
        ),
        ("nearest(LEFT, RIGHT)", "nearest: said would come twice"),
        ("nearest(LEFT, RIGHT, right_columns=['nothing'])", "nearest: the right side has no column nothing"),
        (
            "nearest(LEFT, RIGHT, right_columns=['right_id'], right_key='key')",
            "nearest: the right side has no column key",
        ),
        (
            "nearest(LEFT, RIGHT, left_geometry='said')",
            "nearest: the left side needs its geometry as WKB in a binary column, and said is none",
        ),
        ("snap_to_lines(LEFT, RIGHT, line_columns=['right_id'])", "points are none"),
        (
            "snap_to_lines(LEFT, LEFT, max_distance_m='far')",
            "snap_to_lines: max_distance_m must be none or a number of metres",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(bench: Workbench, call: str, said: str) -> None:
    left = bench.table("few_more", rows([shapely.Point(0, 0)], "left_id"))
    right = bench.table("many_more", rows([shapely.Point(0, 0)], "right_id"))
    call = call.replace("LEFT", repr(left)).replace("RIGHT", repr(right))
    assert said.replace(
        "points are none", "snap_to_lines: 1 of 1 lines are none, the first a Point"
    ) in bench.error(f"select * from {{{{ {call} }}}}")


def test_rows_of_an_ephemeral_model_are_measured_too(bench: Workbench, built: dict[str, pa.Table]) -> None:
    """As are the rows of a unit test: both are part of the statement."""
    left, right = (f"delta.`{bench.state / 'given' / name}`" for name in ("few", "many"))
    bench.write({"some_few": f"{{{{ config(materialized='ephemeral') }}}} select * from {left}"})
    sql = (
        f"select * from {{{{ nearest(ref('some_few'), {right!r}, k=3, max_distance_m=200000, left_columns=['left_id'], "
        "right_columns={'right_id': 'near_id'}, right_key='right_id') }}"
    )
    (table,) = bench.run({"near_ephemeral": sql}).values()
    assert found(table) == found(built["near_within"])
