"""A join that computes only changed cells again, against the same join computed whole, after random edits."""

from __future__ import annotations

import json
import os
from typing import Any

import h3.api.basic_int as h3
import numpy as np
import pyarrow as pa
import pytest
import shapely
from dbt.adapters.sedona import driver_tables
from deltalake import DeltaTable
from workbench import Workbench

DAYS = int(os.environ.get("EDITED_DAYS", "4"))
TOWN, ANTIMERIDIAN, POLE = (15.0, 48.0), (180.0, -17.0), (-179.9, 89.9)
WORLD = shapely.box(-180, -90, 180, 90)
KEPT = """
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='{key}', merge_delete_when='source.geometry is null',
    tblproperties={{'delta.enableChangeDataFeed': 'true'}}) }}}}
select * from {source}
"""
JOIN = """
{{ config(materialized='incremental', incremental_strategy='replace_where') }}
{%- set touched = recompute_cells(ref('edited_points'), ref('edited_shapes'), resolution=7) %}
select * from {{ spatial_join(ref('edited_points'), ref('edited_shapes'), left_columns=['point_id', 'h3'], right_columns=['shape_id', 'label'],
    left_where=touched.points, right_where=touched.shapes) }}
"""


class Edited:
    """Points and shapes, and what became of them."""

    def __init__(self, bench: Workbench, seed: int, centre: tuple[float, float]) -> None:
        self.bench, self.chance, self.centre = bench, np.random.default_rng(seed), centre
        self.points: dict[int, Any] = {number: self._place() for number in range(400)}
        self.shapes: dict[int, Any] = {number: self._shape() for number in range(60)}
        self.labels = dict.fromkeys(self.shapes, "first")
        self.changed_points, self.changed_shapes = set(self.points), set(self.shapes)

    def _place(self) -> Any:
        lon, lat = self.centre + self.chance.uniform(-0.3, 0.3, 2)
        lon, lat = (lon + 180) % 360 - 180, min(lat, 90.0)
        if self.chance.random() < 0.5:
            # A corner of a cell, where its children reach beyond it.
            corners = h3.cell_to_boundary(h3.latlng_to_cell(lat, lon, 7))
            lat, lon = corners[self.chance.integers(len(corners))]
        return shapely.Point(lon, lat)

    def _shape(self) -> Any:
        """Cut at 180 degrees, as silver holds it."""
        size = self.chance.choice([0.002, 0.02, 0.15])
        shape = self._place().buffer(size)
        turns = (shapely.transform(shape, lambda xy, by=by: np.add(xy, (by, 0))) for by in (-360, 0, 360))
        return shapely.union_all([shapely.intersection(turn, WORLD) for turn in turns])

    def edit(self, day: int) -> None:
        """A few of everything: new, moved, removed, relabelled; now and then nothing on one side."""
        self.changed_points, self.changed_shapes = set(), set()
        for changed, made, things in (
            (self.changed_points, self._place, self.points),
            (self.changed_shapes, self._shape, self.shapes),
        ):
            if self.chance.random() < 0.3:
                continue
            keys = list(things)
            for key in self.chance.choice(keys, 3, replace=False).tolist():
                things[key] = made() if self.chance.random() < 0.6 else None
                changed.add(key)
            for _ in range(2):
                key = max(things) + 1
                things[key] = made()
                changed.add(key)
        for key in self.changed_shapes:
            self.labels[key] = f"day {day}"

    def land(self) -> None:
        """What has changed, as the rows to merge."""
        points, shapes = sorted(self.changed_points), sorted(self.changed_shapes)
        self.bench.table(
            "new_points",
            pa.table(
                {
                    "point_id": pa.array(points, pa.int64()),
                    "geometry": pa.array([wkb(self.points[key]) for key in points], pa.binary()),
                    "h3": pa.array([cell(self.points[key]) for key in points], pa.int64()),
                }
            ),
        )
        self.bench.table(
            "new_shapes",
            pa.table(
                {
                    "shape_id": pa.array(shapes, pa.int64()),
                    "label": pa.array([self.labels.get(key) for key in shapes], pa.string()),
                    "geometry": pa.array([wkb(self.shapes[key]) for key in shapes], pa.binary()),
                    "bbox": pa.array([box(self.shapes[key]) for key in shapes], BBOX),
                }
            ),
        )

    def expected(self) -> list[tuple[int, int, str]]:
        return sorted(
            (point, shape, self.labels[shape])
            for point, place in self.points.items()
            for shape, area in self.shapes.items()
            if place is not None and area is not None and shapely.intersects(place, area)
        )


BBOX = pa.struct([(name, pa.float64()) for name in ("xmin", "ymin", "xmax", "ymax")])


def wkb(shape: Any) -> bytes | None:
    return None if shape is None else shapely.to_wkb(shape)


def cell(point: Any) -> int | None:
    return None if point is None else h3.latlng_to_cell(point.y, point.x, 9)


def box(shape: Any) -> dict[str, float] | None:
    return None if shape is None else dict(zip(("xmin", "ymin", "xmax", "ymax"), shape.bounds, strict=True))


@pytest.mark.parametrize(
    ("engine", "most_bytes", "days", "centre"),
    [
        ("delta-rs", driver_tables.MOST_BYTES, DAYS, TOWN),
        ("Spark", 0, DAYS - 1, TOWN),
        ("delta-rs", driver_tables.MOST_BYTES, DAYS - 1, ANTIMERIDIAN),
        ("Spark", 0, DAYS - 2, POLE),
    ],
    ids=["on the driver", "by Spark", "at 180 degrees", "at the pole"],
)
def test_only_changed_cells_are_computed_again_and_nothing_differs(
    bench: Workbench,
    engine: str,
    most_bytes: int,
    days: int,
    centre: tuple[float, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the driver, and by Spark where that would be too much for it."""
    monkeypatch.setattr(driver_tables, "MOST_BYTES", most_bytes)
    edited = Edited(bench, 1, centre)
    edited.land()
    given = bench.state / "given"
    bench.write(
        {
            "edited_points": KEPT.format(key="point_id", source=f"delta.`{given}/new_points`"),
            "edited_shapes": KEPT.format(key="shape_id", source=f"delta.`{given}/new_shapes`"),
        }
    )
    replaced, writers = [], []
    for day in range(days):
        flags = ["--full-refresh"] if day == 0 else []
        bench.run({"edited_join": JOIN}, "--select", "+edited_join", *flags)
        table = DeltaTable(bench.state / "warehouse" / "tried.db" / "edited_join")
        rows = table.to_pyarrow_table()
        found = sorted(
            zip(*(rows[name].to_pylist() for name in ("point_id", "shape_id", "label")), strict=True)
        )
        assert found == edited.expected(), f"day {day}"
        (commit,) = table.history(1)
        replaced.append(commit["operationParameters"].get("predicate", ""))
        writers.append(commit["engineInfo"])
        # By whoever it was written: the next run must know what this one has read, and the readers which table it is.
        read = json.loads(commit["userMetadata"])["dbt_inputs"]
        assert sorted(name.split(".")[1] for name in read) == ["edited_points", "edited_shapes"]
        assert commit["txnId"]
        edited.edit(day)
        edited.land()
    # Whole only the first time.
    assert all("h3 >=" in predicate for predicate in replaced[1:]), replaced
    assert all(engine in writer for writer in writers[1:]), writers
