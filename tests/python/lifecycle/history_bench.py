"""Parcels that are delivered, and changed in known ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from lifecycle_bench import LifecycleBench
from shapely import affinity

MODEL = """
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='parcel_id',
           tblproperties={{'delta.enableChangeDataFeed': 'true'}}) }}}}
{{% do adapter.is_as_noted(none, 'delivery', invocation_id) if execute %}}
select * from {delivery}
"""
_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Parcels:
    """What the next delivery holds. Each change is made to the shapes and values themselves."""

    shapes: dict[str, Any] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    # By day; None for a parcel that does not say.
    updated: dict[str, int | None] = field(default_factory=dict)
    day: int = 0

    @classmethod
    def planted(cls, count: int) -> Parcels:
        random = np.random.default_rng(8)
        made = cls()
        for number in range(count):
            made.add(f"p{number:03d}", random)
        return made

    def add(self, key: str, random: np.random.Generator) -> None:
        corners = int(random.integers(5, 12))
        angles = (np.arange(corners) + random.uniform(0, 0.8, corners)) * 2 * np.pi / corners
        radius = random.uniform(0.0005, 0.001, len(angles))
        west, south = random.uniform(16, 17), random.uniform(48, 49)
        self.shapes[key] = shapely.polygons(
            np.c_[west + radius * np.cos(angles), south + radius * np.sin(angles)]
        )
        self.values[key], self.updated[key] = float(random.integers(1000)), self.day

    def rewrite(self, key: str) -> None:
        """The same ring from another corner, the other way round."""
        points = shapely.get_coordinates(self.shapes[key])[:-1]
        self.shapes[key] = shapely.polygons(np.roll(points, 2, axis=0)[::-1])
        self.updated[key] = self.day

    def move(self, key: str) -> None:
        self.shapes[key] = affinity.translate(self.shapes[key], 0.003, -0.001)
        self.rewrite(key)

    def reshape(self, key: str) -> None:
        points = shapely.get_coordinates(self.shapes[key])[:-1]
        points[1] += 0.0001
        self.shapes[key] = shapely.polygons(points)
        self.updated[key] = self.day

    def revalue(self, key: str) -> None:
        self.values[key] += 1
        self.updated[key] = self.day

    def table(self) -> pa.Table:
        keys = sorted(self.shapes)
        return pa.table(
            {
                "parcel_id": keys,
                "assessed_value": [self.values[key] for key in keys],
                "geometry": [shapely.to_wkb(self.shapes[key]) for key in keys],
                "updated_at": pa.array(
                    [
                        None if (day := self.updated[key]) is None else _START + timedelta(days=day)
                        for key in keys
                    ],
                    pa.timestamp("us", "UTC"),
                ),
                "_batch_id": [f"day {self.day}"] * len(keys),
            }
        )


def deliver(bench: LifecycleBench, parcels: Parcels, name: str = "parcels") -> None:
    """Merged by dbt, as silver is."""
    delivery = bench.table(f"{name}_delivery", parcels.table())
    bench.build(name, MODEL.format(delivery=delivery))
