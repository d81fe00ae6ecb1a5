"""Rows in a window, against GEOS, and the files that are read for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from deltalake import write_deltalake
from workbench import Workbench

WKT = "POLYGON ((10.11 48.13, 10.34 48.15, 10.29 48.41, 10.13 48.37, 10.11 48.13), (10.2 48.2, 10.25 48.2, 10.25 48.3, 10.2 48.2))"
ISLANDS = shapely.MultiPolygon([shapely.box(10.1, 48.1, 10.15, 48.15), shapely.box(10.8, 48.7, 10.9, 48.8)])


def rows() -> list[Any]:
    chance = np.random.default_rng(1)
    made: list[Any] = []
    for low, high in (((10, 48), (11, 49)), ((179.5, -1), (180, 1)), ((-180, -1), (-179.5, 1))):
        xy = chance.uniform(low, high, (400, 2))
        size = chance.uniform(0, 0.05, (400, 2))
        made += [
            *shapely.points(xy[:200]),
            *shapely.box(*xy[200:].T, *np.minimum((xy + size)[200:], (180, 90)).T),
        ]
    # On the borders of windows, and around one.
    made += [
        shapely.Point(10.1, 48.2),
        shapely.Point(10.11, 48.13),
        shapely.box(10.3, 48.0, 10.4, 48.1),
        shapely.box(10, 48, 11, 49),
    ]
    made.append(shapely.MultiPolygon([shapely.box(179.8, 0, 180, 0.1), shapely.box(-180, 0, -179.8, 0.1)]))
    return made


def contract(shapes: list[Any], first: int) -> pa.Table:
    bounds = shapely.bounds(shapes)
    names = ("xmin", "ymin", "xmax", "ymax")
    boxes = pa.StructArray.from_arrays([pa.array(bounds[:, at]) for at in range(4)], names=list(names))
    return pa.table(
        {
            "id": np.arange(first, first + len(shapes)),
            "geometry": pa.array(shapely.to_wkb(shapes), pa.binary()),
            "bbox": boxes,
        }
    )


@pytest.fixture(scope="module")
def table(bench: Workbench) -> str:
    """Ten columns of the map, a file each, and one file with rows that have no shape."""
    shapes = rows()
    name = bench.table("laid_out", contract(shapes, 0).slice(0, 0))
    path = name.split("`")[1]
    numbers = np.arange(len(shapes))
    column = np.floor(shapely.bounds(shapes)[:, 0] * 10).astype(int)
    for value in np.unique(column):
        chosen = numbers[column == value]
        part = contract([shapes[number] for number in chosen], 0).set_column(0, "id", pa.array(chosen))
        write_deltalake(path, part, mode="append")
    empty = pa.table(
        {
            "id": [-1, -2],
            "geometry": pa.array([None, shapely.to_wkb(shapely.Polygon())], pa.binary()),
            "bbox": pa.array([None, None], contract(shapes[:1], 0).schema.field("bbox").type),
        }
    )
    write_deltalake(path, empty, mode="append")
    return name


WINDOWS = {
    "bbox": ("bbox=[10.1, 48.2, 10.3, 48.5]", shapely.box(10.1, 48.2, 10.3, 48.5), "intersects"),
    "within_bbox": (
        "bbox=[10.1, 48.2, 10.3, 48.5], predicate='within'",
        shapely.box(10.1, 48.2, 10.3, 48.5),
        "within",
    ),
    "wkt": (f"wkt='{WKT}'", shapely.from_wkt(WKT), "intersects"),
    "around_wkt": (f"wkt='{WKT}', predicate='contains'", shapely.from_wkt(WKT), "contains"),
    "point": ("wkt='POINT (10.3 48.1)'", shapely.Point(10.3, 48.1), "intersects"),
    "several_parts": (f"wkt='{ISLANDS.wkt}'", ISLANDS, "intersects"),
    "over_the_antimeridian": (
        "bbox=[179.8, -0.5, -179.9, 0.5]",
        shapely.MultiPolygon([shapely.box(179.8, -0.5, 180, 0.5), shapely.box(-180, -0.5, -179.9, 0.5)]),
        "intersects",
    ),
    "up_to_the_antimeridian": (
        "bbox=[179.8, -0.5, -180, 0.5]",
        shapely.box(179.8, -0.5, 180, 0.5),
        "intersects",
    ),
    "nothing": ("bbox=[-60, -60, -50, -50]", shapely.box(-60, -60, -50, -50), "intersects"),
    "no_covering": (
        "bbox=[10.1, 48.2, 10.3, 48.5], covering=none",
        shapely.box(10.1, 48.2, 10.3, 48.5),
        "intersects",
    ),
}


@pytest.fixture(scope="module")
def found(bench: Workbench, table: str) -> dict[str, pa.Table]:
    areas = [shapely.box(10.1, 48.2, 10.3, 48.5), shapely.box(10.25, 48.45, 10.5, 48.6)]
    windows = bench.table(
        "areas", pa.table({"geometry": pa.array([*shapely.to_wkb(areas), None], pa.binary())})
    )
    models = {
        name: f"select * from {{{{ within_window('{table}', {given}) }}}}"
        for name, (given, _, _) in WINDOWS.items()
    }
    models["by_ref"] = f"select * from {{{{ within_window('{table}', ref='{windows}') }}}}"
    models["of_cte"] = (
        f"with some as (select * from {table} where id % 2 = 0) "
        "select some_in.id from {{ within_window('some', bbox=[10.1, 48.2, 10.3, 48.5]) }} as some_in"
    )
    return bench.run(models)


@pytest.mark.parametrize("name", WINDOWS)
def test_rows_in_the_window(found: dict[str, pa.Table], name: str) -> None:
    _, window, predicate = WINDOWS[name]
    expected = np.flatnonzero(getattr(shapely, predicate)(rows(), window)).tolist()
    assert sorted(found[name].column("id").to_pylist()) == expected
    assert bool(expected) == (name != "nothing")
    assert found[name].column_names == ["id", "geometry", "bbox"]


def test_a_relation_of_shapes_and_a_cte(found: dict[str, pa.Table]) -> None:
    window = shapely.union(shapely.box(10.1, 48.2, 10.3, 48.5), shapely.box(10.25, 48.45, 10.5, 48.6))
    assert (
        sorted(found["by_ref"].column("id").to_pylist())
        == np.flatnonzero(shapely.intersects(rows(), window)).tolist()
    )
    even = np.flatnonzero(shapely.intersects(rows(), shapely.box(10.1, 48.2, 10.3, 48.5)))
    assert sorted(found["of_cte"].column("id").to_pylist()) == even[even % 2 == 0].tolist()


def files_read(bench: Workbench, model: str) -> int:
    from pyspark.sql import SparkSession

    [compiled] = bench.project.glob(f"target/compiled/*/models/{model}.sql")
    frame = SparkSession.builder.getOrCreate().sql(compiled.read_text())
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.nodeName() == "AdaptiveSparkPlan":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    metrics = [leaves.apply(number).metrics().get("numFiles") for number in range(leaves.size())]
    return sum(metric.get().value() for metric in metrics if metric.isDefined())


def test_only_files_that_can_hold_rows_are_read(bench: Workbench, found: dict[str, pa.Table]) -> None:
    everything = files_read(bench, "no_covering")
    assert everything >= 20
    # Boxes are up to 0.05 wide and files 0.1: the window's own two columns, the one before, the one after and the whole region's.
    assert files_read(bench, "bbox") <= 5
    assert files_read(bench, "several_parts") <= 5
    assert 2 <= files_read(bench, "over_the_antimeridian") <= 6
    assert files_read(bench, "nothing") == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "within_window: give exactly one of wkt, bbox and ref, got 0"),
        (
            "wkt='POINT (0 0)', bbox=[0, 0, 1, 1]",
            "within_window: give exactly one of wkt, bbox and ref, got 2",
        ),
        ("wkt='POLYGON ((0 0'", "within_window: wkt can't be read"),
        (
            "bbox=[0, 0, 1, 91]",
            "within_window: bbox must lie within longitudes -180 to 180 and latitudes -90 to 90",
        ),
        (
            "bbox=[0, 0, 1, 1], predicate='near'",
            "within_window: predicate must be intersects, contains or within, got near",
        ),
    ],
)
def test_wrong_arguments_are_named(bench: Workbench, table: str, given: str, told: str) -> None:
    separator = ", " if given else ""
    assert told in bench.error(f"select * from {{{{ within_window('{table}'{separator}{given}) }}}}")
