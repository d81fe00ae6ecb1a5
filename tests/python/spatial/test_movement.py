"""Trips and clusters against the same, worked out row by row in Python."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyproj
import pytest
import shapely
from dbt.adapters.sedona import python_macros
from workbench import Workbench

GEOD = pyproj.Geod(ellps="WGS84")
START = datetime.datetime(2026, 1, 31, 22, tzinfo=datetime.UTC)


# --- trips -------------------------------------------------------------------------------------------------------------------


def positions() -> list[dict[str, Any]]:
    chance = np.random.default_rng(3)
    made: list[dict[str, Any]] = []
    for device in ("a", "b", "c"):
        seconds = np.cumsum(chance.choice([0, 60, 299, 300, 301, 900], 300))
        for number, second in enumerate(seconds.tolist()):
            xy = (
                chance.uniform((10, 48), (10.1, 48.1))
                if device != "c"
                else np.array([179.99 + 0.015 * (number % 2), 1.0])
            )
            made.append(_position(device, second, (xy[0] if xy[0] <= 180 else xy[0] - 360, xy[1])))
    # Alone, twice in one place, and exactly the gap apart.
    made += [_position("alone", 0, (1, 1)), _position("parked", 0, (2, 2)), _position("parked", 100, (2, 2))]
    made += [
        _position("late", 0, (3, 3)),
        _position("late", 300, (3.1, 3)),
        _position("late", 600.000001, (3.2, 3)),
    ]
    for number, row in enumerate(made):
        row["event_id"] = number
    made += [
        {"device": "a", "at": None, "place": shapely.to_wkb(shapely.Point(0, 0)), "event_id": -1},
        {"device": "a", "at": START, "place": None, "event_id": -2},
        {"device": "a", "at": START, "place": shapely.to_wkb(shapely.Point()), "event_id": -3},
        {"device": None, "at": START, "place": shapely.to_wkb(shapely.Point(0, 0)), "event_id": -4},
    ]
    return [made[number] for number in chance.permutation(len(made))]


def _position(device: str, second: float, xy: Any) -> dict[str, Any]:
    place = shapely.to_wkb(shapely.Point(*xy))
    return {"device": device, "at": START + datetime.timedelta(seconds=second), "place": place}


def expected_trips(gap_s: float, min_points: int, tie: str = "place", by_day: bool = False) -> dict[Any, Any]:
    rows = [row for row in positions() if row["event_id"] >= 0]
    rows.sort(key=lambda row: (row["device"], row["at"], row[tie], row["place"]))
    trips: dict[Any, list[Any]] = {}
    number, last = 0, None
    for row in rows:
        whose = (row["device"], row["at"].date() if by_day else None)
        if last is None or last[0] != whose:
            number = 1
        elif (row["at"] - last[1]).total_seconds() > gap_s:
            number += 1
        trips.setdefault((*whose, number), []).append(row)
        last = (whose, row["at"])
    return {key: trip for key, trip in trips.items() if len(trip) >= min_points}


def check_trips(found: pa.Table, expected: dict[Any, Any]) -> None:
    rows = {(row["device"], row.get("day"), row["trip_number"]): row for row in found.to_pylist()}
    assert len(rows) == found.num_rows
    assert rows.keys() == expected.keys()
    for key, trip in expected.items():
        row = rows[key]
        xy = shapely.get_coordinates(shapely.from_wkb([one["place"] for one in trip]))
        is_still = (xy == xy[0]).all()
        line = shapely.Point(xy[0]) if is_still else shapely.LineString(xy)
        assert shapely.from_wkb(row["geometry"]).equals_exact(line, 0)
        assert row["length_m"] == pytest.approx(GEOD.line_length(*xy.T), abs=1e-3)
        assert row["point_count"] == len(trip)
        assert (row["started_ts"], row["ended_ts"]) == (trip[0]["at"], trip[-1]["at"])
        assert row["duration_s"] == pytest.approx((trip[-1]["at"] - trip[0]["at"]).total_seconds())


def test_trips(bench: Workbench) -> None:
    rows = positions()
    kinds = pa.schema(
        [
            ("device", pa.string()),
            ("at", pa.timestamp("us", "UTC")),
            ("place", pa.binary()),
            ("event_id", pa.int64()),
        ]
    )
    table = bench.table("positions", pa.Table.from_pylist(rows, schema=kinds))
    again = bench.table("positions_again", pa.Table.from_pylist(rows[::-1], schema=kinds))
    call = "select * from {{{{ trips('{table}', 'device', 'at', gap_s=300, geometry='place'{more}) }}}}"
    made = bench.run(
        {
            "plain": call.format(table=table, more=""),
            "again": call.format(table=again, more=""),
            "tied": call.format(table=table, more=", tie='event_id', min_points=1"),
            "by_day": f"with p as (select *, date(at) as day from {table}) "
            + call.format(table="p", more=", by=['day'], min_points=3"),
        }
    )
    check_trips(made["plain"], expected_trips(300, 2))
    check_trips(made["again"], expected_trips(300, 2))
    check_trips(made["tied"], expected_trips(300, 1, tie="event_id"))
    check_trips(made["by_day"], expected_trips(300, 3, by_day=True))
    assert made["by_day"].column_names == [
        "device", "day", "trip_number", "point_count", "length_m", "duration_s", "geometry", "started_ts", "ended_ts",
    ]  # fmt: skip


def test_wrong_arguments_of_trips_are_named(bench: Workbench) -> None:
    call = "select * from {{ trips('positions', 'device', 'at', %s) }}"
    assert "trips: gap_s must be a number of seconds above 0, got 0" in bench.error(call % "gap_s=0")
    assert "trips: min_points must be 1 or more, got 0" in bench.error(call % "min_points=0")


# --- clusters ----------------------------------------------------------------------------------------------------------------


def by_definition(lon: Any, lat: Any, radius_m: float, min_points: int) -> tuple[Any, Any]:
    """Points in the order of their keys."""
    count = len(lon)
    one, other = np.triu_indices(count, 1)
    metres = np.zeros((count, count))
    metres[one, other] = GEOD.inv(lon[one], lat[one], lon[other], lat[other])[2]
    near = (metres + metres.T) <= radius_m
    is_core = near.sum(axis=1) >= min_points
    cluster = np.full(count, -1)
    for number in np.flatnonzero(is_core):
        waiting = [number] if cluster[number] < 0 else []
        cluster[waiting] = number
        while waiting:
            for found in np.flatnonzero(near[waiting.pop()] & is_core & (cluster < 0)):
                cluster[found] = number
                waiting.append(found)
    for number in np.flatnonzero(~is_core):
        reached = np.flatnonzero(near[number] & is_core)
        cluster[number] = cluster[reached[0]] if len(reached) else -1
    return is_core, cluster


@pytest.mark.parametrize("tile", [100_000, 60])
def test_clusters(bench: Workbench, monkeypatch: pytest.MonkeyPatch, tile: int) -> None:
    chance = np.random.default_rng(9)
    town = chance.normal((10, 48), 0.01, (500, 2))
    chain = np.column_stack([np.linspace(179.9, 180.1, 300), np.full(300, 5.0)])
    chain[:, 0] = np.where(chain[:, 0] > 180, chain[:, 0] - 360, chain[:, 0])
    pole = np.column_stack([chance.uniform(-180, 180, 60), chance.uniform(89.999, 90, 60)])
    xy = chance.permutation(
        np.concatenate([town, town[:5], chain, pole, chance.uniform((-180, -90), (180, 90), (100, 2))])
    )
    count = len(xy)
    # As text, ten comes before two.
    order = np.argsort([str(number) for number in range(count)])
    shapes = [
        *shapely.to_wkb(shapely.points(xy)),
        None,
        shapely.to_wkb(shapely.Point()),
        shapely.to_wkb(shapely.box(10, 48, 11, 49)),
    ]
    keys = np.arange(count + 3)
    numbers = bench.table("by_number", pa.table({"id": keys, "geometry": pa.array(shapes, pa.binary())}))
    texts = bench.table(
        "by_text", pa.table({"id": [str(key) for key in keys], "geometry": pa.array(shapes, pa.binary())})
    )
    call = "select * from {{{{ clusters('{table}', 'id', radius_m=150, min_points=4) }}}}"
    models = {"clustered": call.format(table=numbers), "clustered_texts": call.format(table=texts)}
    bench.run({"first": "select 1 as one"})
    _, plan = python_macros._called_by_jinja["plan_clusters"]
    monkeypatch.setitem(plan.__globals__, "_POINTS_OF_A_TILE", tile)
    made = bench.run(models)
    is_core, cluster = by_definition(*xy.T, 150, 4)
    assert len(np.unique(cluster)) > 5
    found = {row["id"]: row for row in made["clustered"].to_pylist()}
    assert made["clustered"].num_rows == len(found) == count + 3
    for number in range(count):
        assert found[number]["cluster"] == (cluster[number] if cluster[number] >= 0 else None)
        assert found[number]["is_core"] == is_core[number]
    assert all(found[number]["cluster"] is None for number in (count, count + 1, count + 2))
    _, by_text = by_definition(*xy[order].T, 150, 4)
    found = {row["id"]: row["cluster"] for row in made["clustered_texts"].to_pylist()}
    for at, number in enumerate(order):
        assert found[str(number)] == (str(order[by_text[at]]) if by_text[at] >= 0 else None)


def test_wrong_arguments_of_clusters_are_named(bench: Workbench) -> None:
    points = bench.table(
        "some_points", pa.table({"id": [1], "geometry": [shapely.to_wkb(shapely.Point(0, 0))]})
    )
    call = f"select * from {{{{ clusters('{points}', %s) }}}}"
    assert "clusters: radius_m must be 0.1 to 100000 metres, got 0" in bench.error(call % "'id', 0, 3")
    assert "clusters: min_points must be 1 or more, got 0" in bench.error(call % "'id', 10, 0")
    assert "clusters: the relation has no column point_id; it has id, geometry" in bench.error(
        call % "'point_id', 10, 3"
    )
