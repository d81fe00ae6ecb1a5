"""DBSCAN against its definition: all distances by pyproj, and what follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyproj
import pytest
import shapely
from dbt.adapters.sedona import python_macros
from hypothesis import given, settings
from hypothesis import strategies as st

from geostrata.spatial import clusters
from geostrata.spatial.clusters import connected, dbscan, merged
from geostrata.spatial.tiles import Tiles

GEOD = pyproj.Geod(ellps="WGS84")


def by_definition(lon: Any, lat: Any, radius_m: float, min_points: int) -> tuple[Any, Any]:
    count = len(lon)
    one, other = np.triu_indices(count, 1)
    metres = np.zeros((count, count))
    metres[one, other] = GEOD.inv(lon[one], lat[one], lon[other], lat[other])[2]
    near = (metres + metres.T) <= radius_m
    is_core = near.sum(axis=1) >= min_points
    cluster = np.full(count, -1)
    for number in range(count):
        if not is_core[number] or cluster[number] >= 0:
            continue
        waiting = [number]
        cluster[number] = number
        while waiting:
            for found in np.flatnonzero(near[waiting.pop()] & is_core & (cluster < 0)):
                cluster[found] = number
                waiting.append(found)
    for number in np.flatnonzero(~is_core):
        reached = np.flatnonzero(near[number] & is_core)
        if len(reached):
            cluster[number] = cluster[reached[0]]
    return is_core, cluster


def check(lon: Any, lat: Any, radius_m: float, min_points: int) -> Any:
    lon, lat = np.asarray(lon, dtype=float), np.asarray(lat, dtype=float)
    found = dbscan(lon, lat, radius_m, min_points)
    is_core, cluster = by_definition(lon, lat, radius_m, min_points)
    assert (found.is_core == is_core).all()
    assert (found.core == cluster).all()
    return found


@pytest.mark.parametrize("seed", range(30))
def test_random_layouts(seed: int) -> None:
    chance = np.random.default_rng(seed)
    centre = chance.uniform((-180, -90), (180, 90))
    if seed % 5 == 0:
        centre[0] = 180
    if seed % 7 == 0:
        centre[1] = chance.choice([-89.99, 89.999, 90])
    radius_m = float(10 ** chance.uniform(0, 5))
    count = int(chance.integers(2, 400))
    towns = chance.normal(0, 12 * radius_m / 111_000, (6, 2))
    xy = towns[chance.integers(0, 6, count)] + chance.normal(
        0, chance.uniform(0.3, 4) * radius_m / 111_000, (count, 2)
    )
    lat = np.clip(centre[1] + xy[:, 1], -90, 90)
    lon = centre[0] + xy[:, 0] / max(np.cos(np.radians(centre[1])), 0.01)
    lon = (lon + 180) % 360 - 180
    check(lon, lat, radius_m, int(chance.integers(1, 9)))


@settings(max_examples=150, deadline=None)
@given(
    cells=st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=60),
    min_points=st.integers(1, 6),
    place=st.sampled_from([(0.0, 0.0), (179.9999, 10.0), (20.0, 89.9995), (-70.0, -60.0)]),
    step=st.sampled_from([0.5, 1.0, 0.9999]),
)
def test_points_on_a_lattice_with_many_ties(
    cells: list[tuple[int, int]], min_points: int, place: tuple[float, float], step: float
) -> None:
    """Repeated places, and distances at the radius itself."""
    radius_m = 50.0
    away = np.array(cells, dtype=float) * radius_m * step
    turn = np.degrees(np.arctan2(away[:, 0], away[:, 1]))
    count = len(cells)
    lon, lat, _ = GEOD.fwd(np.full(count, place[0]), np.full(count, place[1]), turn, np.hypot(*away.T))
    check(lon, lat, radius_m, min_points)


def test_the_radius_itself_is_within_reach() -> None:
    lon, lat = np.array([10.0, 10.01]), np.array([48.0, 48.0])
    metres = GEOD.inv(lon[0], lat[0], lon[1], lat[1])[2]
    assert dbscan(lon, lat, metres, 2).core.tolist() == [0, 0]
    assert dbscan(lon, lat, float(np.nextafter(metres, 0)), 2).core.tolist() == [-1, -1]


@pytest.mark.parametrize("radius_m", [0.1, 30.0, 5_000.0, 100_000.0])
def test_pairs_about_a_radius_apart(radius_m: float) -> None:
    """Anywhere and in any direction, so that they lie in one cube, or across cubes, every which way."""
    chance = np.random.default_rng(4)
    count = 1500
    lon, lat = chance.uniform(-180, 180, count), np.degrees(np.arcsin(chance.uniform(-1, 1, count)))
    share = np.concatenate([chance.uniform(0.9, 1.1, count - 500), 1 + chance.normal(0, 1e-9, 500)])
    lon_to, lat_to, _ = GEOD.fwd(lon, lat, chance.uniform(0, 360, count), radius_m * share)
    metres = GEOD.inv(lon, lat, lon_to, lat_to)[2]
    for number in range(count):
        pair = dbscan(
            np.array([lon[number], lon_to[number]]), np.array([lat[number], lat_to[number]]), radius_m, 2
        )
        assert (pair.core[0] == 0) == (metres[number] <= radius_m), number


def test_a_chain_is_one_cluster() -> None:
    lon = np.linspace(179.9, 180.1, 400)
    lon = np.where(lon > 180, lon - 360, lon)
    found = check(lon, np.full(400, 5.0), 60.0, 3)
    # The first has too few neighbours to be a core.
    assert set(found.core.tolist()) == {1}


def test_a_border_point_goes_to_the_smallest_core_in_reach() -> None:
    # Two crowds, 180 m apart, and one point half way, which is no core itself. Numbers of both crowds are mixed.
    metre = 1 / GEOD.inv(0, 0, 1, 0)[2]
    right, left = [180.0, 181.0, 182.0, 183.0], [0.0, -1.0, -2.0, -3.0]
    lon = np.array([90.0, right[0], left[0], left[1], *right[1:], *left[2:]]) * metre
    found = check(lon, np.zeros(9), 90.5, 4)
    assert found.core.tolist() == [1, 1, 2, 2, 1, 1, 1, 2, 2]
    assert not found.is_core[0]


def test_crowds_far_larger_than_a_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_PAIRS", 50)
    chance = np.random.default_rng(3)
    check(chance.normal(10, 0.001, 300), chance.normal(48, 0.0005, 300), 40.0, 5)


def test_a_crowd_in_one_place_is_quick() -> None:
    chance = np.random.default_rng(3)
    lon, lat = chance.normal(10, 1e-5, 200_000), chance.normal(48, 1e-5, 200_000)
    found = dbscan(lon, lat, 1000.0, 5)
    assert (found.core == 0).all()


def test_places_that_are_none_are_noise() -> None:
    found = dbscan(np.array([np.nan, 1.0, 1.0]), np.array([0.0, 1.0, 1.0]), 10.0, 2)
    assert found.core.tolist() == [-1, 1, 1]
    assert found.is_core.tolist() == [False, True, True]
    assert dbscan(np.zeros(0), np.zeros(0), 10.0, 2).core.tolist() == []
    assert dbscan(np.array([np.nan]), np.array([0.0]), 10.0, 1).core.tolist() == [-1]


def test_connected_finds_the_smallest() -> None:
    assert connected(np.array([5, 3, 1]), np.array([3, 1, 0]), 7).tolist() == [0, 0, 2, 0, 4, 0, 6]
    chance = np.random.default_rng(8)
    order = chance.permutation(1000)
    assert set(connected(order[:-1], order[1:], 1000).tolist()) == {0}


def test_merged_labels_are_keys() -> None:
    found = merged(pa.array(["c", "b", "x"]), pa.array(["b", "a", "y"]))
    assert found.to_pydict() == {"label": ["b", "c", "y"], "cluster": ["a", "a", "x"]}
    assert merged(pa.array([], pa.int64()), pa.array([], pa.int64())).num_rows == 0


# --- by tiles, as Spark deals them out -----------------------------------------------------------------------------------------

MOVEMENT = python_macros.load(Path(__file__).parents[3] / "macros" / "python" / "movement.py")


def by_tiles(lon: Any, lat: Any, radius_m: float, min_points: int, tiles: int, keys: Any) -> dict[Any, Any]:
    """What the steps of plan_clusters give, without Spark in between."""
    table = pa.table({"key": keys, "geometry": shapely.to_wkb(shapely.points(lon, lat))})
    dealt = MOVEMENT._dealt(table, Tiles.of(np.column_stack([lon, lat]), tiles), radius_m)
    labelled = pa.concat_tables(
        MOVEMENT._label(dealt.filter(pc.equal(dealt.column("tile"), tile)), radius_m, min_points)
        for tile in pc.unique(dealt.column("tile"))
    )
    own = labelled.filter(labelled.column("is_own"))
    assert own.num_rows == len(lon)
    labels = dict(zip(own.column("key").to_pylist(), own.column("label").to_pylist(), strict=True))
    seen = labelled.filter(pc.invert(labelled.column("is_own"))).to_pylist()
    pairs = [(labels[row["key"]], row["label"]) for row in seen if labels[row["key"]] != row["label"]]
    kind = table.schema.field("key").type
    names = merged(pa.array([one for one, _ in pairs], kind), pa.array([other for _, other in pairs], kind))
    renamed = dict(zip(names.column("label").to_pylist(), names.column("cluster").to_pylist(), strict=True))
    return {key: renamed.get(label, label) for key, label in labels.items()}


@pytest.mark.parametrize("seed", range(25))
def test_tiles_change_nothing(seed: int) -> None:
    chance = np.random.default_rng(seed)
    centre = np.array([chance.uniform(-180, 180), chance.uniform(-70, 70)])
    if seed % 3 == 0:
        centre[0] = 179.9999
    if seed % 5 == 0:
        centre[1] = 89.9995
    radius_m = float(10 ** chance.uniform(1, 4))
    count = int(chance.integers(50, 300))
    # Chains and crowds, over many tiles.
    way = np.cumsum(chance.normal(0, 0.6 * radius_m / 111_000, (count, 2)), axis=0)
    lat = np.clip(centre[1] + way[:, 1], -90, 90)
    lon = (centre[0] + way[:, 0] / max(np.cos(np.radians(centre[1])), 0.001) + 180) % 360 - 180
    keys = pa.array([f"point {number}" for number in chance.permutation(count)])
    order = np.asarray(pc.sort_indices(keys))
    min_points = int(chance.integers(1, 6))
    _, cluster = by_definition(lon[order], lat[order], radius_m, min_points)
    names = keys.take(pa.array(order)).to_pylist()
    expected = {
        name: names[number] if number >= 0 else None for name, number in zip(names, cluster, strict=True)
    }
    for tiles in (1, 7, 40):
        assert by_tiles(lon, lat, radius_m, min_points, tiles, keys) == expected
