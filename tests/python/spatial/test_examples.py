"""Every statement in the guide to spatial SQL, as a model on a small town."""

from __future__ import annotations

import re
from typing import Any

import h3.api.basic_int as h3
import numpy as np
import pyarrow as pa
import shapely
from workbench import ROOT, Workbench

GUIDES = [ROOT / "docs/spatial-sql.md", *sorted((ROOT / "docs/spatial-sql").glob("*.md"))]
BBOX = pa.struct([(name, pa.float64()) for name in ("xmin", "ymin", "xmax", "ymax")])


def examples() -> dict[str, str]:
    """By the name of the model, if the statement begins with its file, or by page and number."""
    found = {}
    for guide in GUIDES:
        for number, block in enumerate(re.findall(r"```sql\n(.*?)```", guide.read_text(), re.DOTALL), 1):
            named = re.match(r"-- models/\S*?(\w+)\.sql\n", block)
            found[named[1] if named else f"{guide.stem.replace('-', '_')}_{number}"] = block
    return found


def test_the_guide_has_a_page_for_each_link() -> None:
    links = re.findall(r"\]\((spatial-sql/[a-z0-9-]+\.md)", (ROOT / "docs/spatial-sql.md").read_text())
    assert {ROOT / "docs" / link for link in links} == set(GUIDES[1:])


def test_every_statement_of_the_guide_gives_rows(bench: Workbench) -> None:
    bench.write({name: f"select * from {bench.table(name, rows)}" for name, rows in town().items()})
    statements = examples()
    assert len(statements) >= 15
    try:
        tables = bench.run(statements, "--select", *town(), *statements)
    finally:
        bench.forget([*town(), *statements])
    assert [name for name, table in tables.items() if not table.num_rows] == []


def town() -> dict[str, pa.Table]:
    """A few of each, as silver has them, so near each other that every question has an answer."""
    chance = np.random.default_rng(8)
    middle = np.array([10.2, 48.3])
    squares = [
        shapely.box(*(middle + at), *(middle + at + 0.01)) for at in chance.uniform(-0.05, 0.05, (30, 2))
    ]
    zones = [shapely.Point(middle + at).buffer(0.04) for at in chance.uniform(-0.05, 0.05, (4, 2))]
    crowd = middle + np.concatenate([chance.normal(0, 0.001, (60, 2)), chance.uniform(-0.06, 0.06, (60, 2))])
    places = [shapely.Point(at) for at in middle + chance.normal(0, 0.002, (12, 2))]
    roads = [shapely.LineString(middle + at) for at in chance.uniform(-0.05, 0.05, (6, 3, 2))]
    roads.append(shapely.LineString([middle - 0.05, middle, middle - (-0.05, 0.05)]))
    times = pa.array(np.datetime64("2026-01-01T10:00:00", "us") + np.arange(120) * np.timedelta64(60, "s"))
    return {
        "parcels": _silver(
            "parcel_id", squares, {"land_use": ["field", "wood"] * 15, "assessed_value": [1.0] * 30}
        ),
        "zones": _silver("zone_id", zones, {"zone_name": ["north"] * 4, "zone_type": ["a", "b"] * 2}),
        "roads": _silver("road_id", roads, {"road_name": ["high street"] * len(roads)}),
        "facilities": _silver("facility_id", places, {"facility_type": ["school"] * 12}),
        "telemetry": _silver(
            "event_id",
            [shapely.Point(at) for at in crowd],
            {
                "device_id": [f"device-{number % 4}" for number in range(120)],
                "event_ts": times,
                "speed_mps": [1.0] * 120,
            },
        ),
    }


def _silver(key: str, shapes: list[Any], more: dict[str, Any]) -> pa.Table:
    boxes = [dict(zip(("xmin", "ymin", "xmax", "ymax"), shape.bounds, strict=True)) for shape in shapes]
    inside = [shape.representative_point() for shape in shapes]
    kind = key.removesuffix("_id")
    return pa.table(
        {
            key: [f"{kind}-{number}" for number in range(len(shapes))],
            **more,
            "geometry": pa.array(list(shapely.to_wkb(shapes)), pa.binary()),
            "bbox": pa.array(boxes, BBOX),
            "h3": [h3.latlng_to_cell(point.y, point.x, 9) for point in inside],
        }
    )
