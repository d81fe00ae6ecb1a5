"""All H3 macros in Spark, over cells of the whole globe, against the h3 package."""

from __future__ import annotations

from typing import Any

import h3.api.basic_int as h3
import numpy as np
import pyarrow as pa
import pytest
import shapely
from h3 import H3BaseException
from workbench import Workbench

from geostrata.spatial import cells as kernel

CELL, PENTAGON = 0x85283473FFFFFFF, h3.get_pentagons(5)[0]
# What is no cell: other bits, base cells and digits that there are not, digits beyond the resolution, a pentagon's missing direction.
BAD = [
    *(0, 1, -1, (1 << 63) - 1, -(1 << 63)),
    *(CELL | 1 << 63 - 7, CELL | 1 << 59 + 1, CELL - (1 << 63)),
    (CELL & ~(127 << 45)) | 122 << 45,
    CELL | 7 << 30,
    CELL | 7 << 42,
    CELL - 1,
    CELL + (1 << 52),
    PENTAGON | 1 << 30,
    PENTAGON | 1 << 42,
    PENTAGON | 1 << 36 | 3 << 30,
]
PLACES = [(90.0, 0.0), (-90.0, 0.0), (0.0, 180.0), (66.0, -180.0), (-45.0, 180.0), (52.5, 13.4)]


def cells_of_the_globe() -> list[int]:
    """Of every resolution: random ones, all pentagons and their neighbours, poles and the antimeridian."""
    random = np.random.default_rng(5)
    found: set[int] = set()
    for resolution in range(16):
        lat = np.degrees(np.arcsin(random.uniform(-1, 1, 100)))
        lon = random.uniform(-180, 180, 100)
        found |= {h3.latlng_to_cell(*place, resolution) for place in zip(lat, lon, strict=True)}
        for cell in h3.get_pentagons(resolution):
            found |= set(h3.grid_disk(cell, 1))
        for place in PLACES:
            found |= set(h3.grid_disk(h3.latlng_to_cell(*place, resolution), 1))
    return sorted(found)


@pytest.fixture(scope="module")
def asked() -> pa.Table:
    cells = cells_of_the_globe()
    assert all(map(h3.is_valid_cell, cells)) and not any(h3.is_valid_cell(cell % 2**64) for cell in BAD)
    others = [h3.grid_disk(cell, 2)[number % 19 % 7] for number, cell in enumerate(cells)]
    return pa.table(
        {
            "h3": pa.array([*cells, *BAD, None], pa.int64()),
            "other": pa.array([*others, *cells[: len(BAD)], cells[0]], pa.int64()),
        }
    )


SQL = """
    select
        h3,
        other,
        {{ h3_is_valid('h3') }} as is_valid,
        {{ h3_resolution('h3') }} as resolution,
        {{ h3_is_pentagon('h3') }} as is_pentagon,
        {{ h3_to_string('h3') }} as text,
        {{ h3_from_string(h3_to_string('h3')) }} as from_text,
        {{ h3_from_string(h3_to_string('h3') ~ " || ''") }} as from_text_again,
        {{ h3_from_string("upper('0' || " ~ h3_to_string('h3') ~ ")") }} as from_upper,
        {{ h3_distance('h3', 'other') }} as distance,
        {{ h3_boundary('h3') }} as geometry,
        {{ h3_area_m2('h3') }} as area_m2,
        {{ h3_disk('h3', 2) }} as disk,
        {{ h3_ring('h3', 0) }} as ring_0,
        {{ h3_ring('h3', 1) }} as ring_1,
        {{ h3_ring('h3', 3) }} as ring_3,
        {% for resolution in range(16) %}
        {{ h3_parent('h3', resolution) }} as parent_{{ resolution }},
        {% endfor %}
        case {{ h3_resolution('h3') }}
            {% for resolution in range(14) -%}
            when {{ resolution }} then {{ h3_children('h3', resolution + 2) }}
            {% endfor -%}
        end as grandchildren,
        {{ h3_children('h3', 0) }} as children_at_0,
        {{ h3_compact(h3_disk('h3', 5)) }} as compact,
        {{ h3_uncompact("array(h3, null, other)", 3) }} as uncompact
    from """


def row_of(cell: int, other: int) -> dict[str, Any]:
    """The same row by the h3 package."""
    resolution = h3.get_resolution(cell)

    def ring(rings: int) -> set[int]:
        inner = set(h3.grid_disk(cell, rings - 1)) if rings else set()
        return set(h3.grid_disk(cell, rings)) - inner

    try:
        distance = h3.grid_distance(cell, other)
    except H3BaseException:
        distance = None
    row = {
        "is_valid": True,
        "resolution": resolution,
        "is_pentagon": h3.is_pentagon(cell),
        "text": h3.int_to_str(cell),
        "from_text": cell,
        "from_text_again": cell,
        "from_upper": cell,
        "distance": distance,
        "area_m2": h3.cell_area(cell, unit="m^2"),
        "disk": set(h3.grid_disk(cell, 2)),
        "ring_0": {cell},
        "ring_1": ring(1),
        "ring_3": ring(3),
        "children_at_0": {cell} if resolution == 0 else None,
        "compact": sorted(h3.compact_cells(h3.grid_disk(cell, 5))),
        "uncompact": sorted(
            {child for given in {cell, other} if resolution <= 3 for child in h3.cell_to_children(given, 3)}
        ),
    }
    for level in range(16):
        row[f"parent_{level}"] = h3.cell_to_parent(cell, level) if level <= resolution else None
    row["grandchildren"] = list(h3.cell_to_children(cell, resolution + 2)) if resolution < 14 else None
    return row


def test_all_macros_over_the_globe(bench: Workbench, asked: pa.Table) -> None:
    table = bench.table("asked_cells", asked)
    found = bench.run({"asked": SQL + table})["asked"].to_pylist()
    assert len(found) == len(asked) > 3000
    outlines = shapely.from_wkb([row.pop("geometry") for row in found])
    for row, outline in zip(found, outlines, strict=True):
        cell, other = row.pop("h3"), row.pop("other")
        if cell is None or cell in BAD:
            assert row.pop("is_valid") is (None if cell is None else False)
            # The other cell is one all the same.
            assert row.pop("uncompact") == row_of(other, other)["uncompact"]
            assert outline is None and set(map(str, row.values())) == {"None"}, (cell, row)
            continue
        for name, expected in row_of(cell, other).items():
            given = row[name]
            if isinstance(expected, set):
                assert len(given) == len(expected), (hex(cell), name)
                given = set(given)
            assert given == expected, (hex(cell), name)
        assert outline.equals_exact(kernel.boundaries([cell])[0])


def test_cells_of_points(bench: Workbench) -> None:
    """Sedona brings an H3 of its own. It agrees with the h3 package, but for the side of a border on which rounding puts a corner."""
    random = np.random.default_rng(6)
    lat = np.degrees(np.arcsin(random.uniform(-1, 1, 2000)))
    anywhere = np.column_stack([random.uniform(-180, 180, 2000), lat])
    edges_of_the_map = [(0, 90), (0, -90), (180, 0), (-180, 0), (180, 66), (-180, 66)]
    some = random.choice(cells_of_the_globe(), 300, replace=False).tolist()
    corners = np.concatenate([np.array(h3.cell_to_boundary(cell))[:, ::-1] for cell in some])
    places = np.concatenate([anywhere, edges_of_the_map, corners])
    nowhere = [(500_000, 5_000_000), (1, np.inf), (np.nan, 1), (181, 1), (1, -91)]
    points = shapely.points(np.concatenate([places, nowhere]))
    geometry = shapely.to_wkb([*points, shapely.Point(), None])
    table = bench.table("points", pa.table({"id": range(len(geometry)), "geometry": geometry}))
    levels = [0, 1, 5, 9, 12, 15]
    columns = [f"{{{{ h3_cell('st_geomfromwkb(geometry)', {level}) }}}} as cell_{level}" for level in levels]
    models = {"celled": f"select id, {', '.join(columns)} from {table}"}
    found = bench.run(models)["celled"].sort_by("id").to_pydict()
    for level in levels:
        cells = found[f"cell_{level}"]
        assert cells[len(places) :] == [None] * (len(nowhere) + 2)
        expected = [h3.latlng_to_cell(lat, lon, level) for lon, lat in places.tolist()]
        differ = [number for number, cell in enumerate(expected) if cells[number] != cell]
        assert not differ or min(differ) >= len(anywhere) + len(edges_of_the_map)
        for number, both in zip(differ, kernel.covers(points[differ], level, "overlaps"), strict=True):
            assert {cells[number], expected[number]} <= set(both.tolist())


def test_covers(bench: Workbench) -> None:
    shapes = [
        shapely.Point(13.4, 52.5).buffer(0.05),
        shapely.MultiPolygon([shapely.box(179.9, -0.1, 180, 0.1), shapely.box(-180, -0.1, -179.9, 0.1)]),
        shapely.box(-180, 89.8, 180, 90),
        shapely.LineString([(13.4, 52.5), (13.5, 52.6)]),
        shapely.Point(13.4, 52.5),
        shapely.Polygon(),
    ]
    values = [*shapely.to_wkb(shapes), None, b"no geometry"]
    table = bench.table("covered_shapes", pa.table({"id": range(len(values)), "geometry": values}))
    columns = ", ".join(f"{{{{ h3_cover('geometry', 7, '{mode}') }}}} as {mode}" for mode in kernel.MODES)
    found = bench.run(
        {
            "covered": f"select id, {columns} from {table}",
            "covered_once": f"select id, {{{{ h3_cover('geometry', 7) }}}} as cells from {table}",
            "packed": f"select {{{{ h3_compact('collect_list(h3)') }}}} as cells from "
            f"(select explode({{{{ h3_cover('geometry', 7) }}}}) as h3 from {table} where id < 2)",
        }
    )
    covered = found["covered"].sort_by("id").to_pylist()
    for mode in kernel.MODES:
        expected = [
            cells if cells is None else cells.tolist()
            for cells in kernel.covers([*shapes, None, None], 7, mode)
        ]
        assert [row[mode] for row in covered] == expected
    assert [row["cells"] for row in found["covered_once"].sort_by("id").to_pylist()] == [
        row["exact"] for row in covered
    ]
    assert found["packed"].to_pylist() == [
        {"cells": kernel.compact(np.array(covered[0]["exact"] + covered[1]["exact"])).tolist()}
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("h3_parent('1L', 16)", "h3_parent: resolution must be 0-15, got 16"),
        ("h3_children('1L', -1)", "h3_children: resolution must be 0-15, got -1"),
        (
            "h3_children('577199624117288959', 9)",
            "h3_children: resolution must be within 8 of the cell's, got 9",
        ),
        ("h3_disk('1L', 'two')", "h3_disk: rings must be a whole number from 0 up, got two"),
        ("h3_ring('1L', -1)", "h3_ring: rings must be a whole number from 0 up, got -1"),
        ("h3_uncompact('array(1L)', 99)", "h3_uncompact: resolution must be 0-15, got 99"),
        (
            "h3_cover('x', 9, 'full')",
            "h3_cover: mode must be one of center, contains, overlaps, exact, got full",
        ),
        (
            "h3_cover(\"st_asbinary(st_geomfromtext('POLYGON((0 0,9 0,9 9,0 9,0 0))'))\", 13)",
            "h3_cover: more than 10,000,000 cells of resolution 13 for one value; take a coarser resolution",
        ),
    ],
)
def test_mistakes_are_named(bench: Workbench, call: str, message: str) -> None:
    assert message in bench.error(f"select {{{{ {call} }}}} as answer")
