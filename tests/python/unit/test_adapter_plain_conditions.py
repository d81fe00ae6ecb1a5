"""Which conditions may be handed to another engine than Spark."""

from __future__ import annotations

import h3.api.basic_int as h3
import pytest
from dbt.adapters.sedona.plain_conditions import is_plain, types_of

from geostrata.spatial.touched import rows_condition, shapes_condition, touched_cells

TYPES = {"h3": "long", "bbox.xmin": "double", "name": "string", "day": "date", "share": "decimal(10,2)"}


@pytest.mark.parametrize(
    "condition",
    [
        "h3 between 5 and 7",
        "(h3 between 5 and 7 or h3 between -8 and -2)",
        "((bbox.xmin <= 10.4 and bbox.xmin >= 1e-05) or (h3 = 3))",
        "h3>1 AND(h3<2)",
        "bbox.xmin = 5",
    ],
)
def test_numbers_compared_with_numbers_are_plain(condition: str) -> None:
    assert is_plain(condition, TYPES)


@pytest.mark.parametrize(
    "condition",
    [
        "true",
        "false",
        "",
        "h3 > 5 or true",
        "not h3 > 5",
        "h3 is null",
        "h3 in (5, 6)",
        "h3 > 5 + 3",
        "h3 > 5L",
        "h3 > 5.5",  # one engine compares as decimals, another as doubles
        "h3 > bbox.xmin",
        "abs(h3) > 5",
        "bbox > 5",
        "other > 5",
        "name > 5",  # a text and a number: which of them is converted differs
        "share > 5",
        "day = date '2024-05-01'",
        "h3 > 5 -- and no more",
        "h3 > 5; drop table points",
        "h3 > 5 and exists (select 1)",
    ],
)
def test_all_else_is_left_to_spark(condition: str) -> None:
    assert not is_plain(condition, TYPES)


def test_conditions_of_touched_cells_are_plain() -> None:
    cells = touched_cells([h3.latlng_to_cell(48, 15, 7), h3.latlng_to_cell(48.4, 15, 7)], [], 7)
    sides = {f"bbox.{side}": "double" for side in ("xmin", "ymin", "xmax", "ymax")}
    assert is_plain(rows_condition(cells, "h3", 9), TYPES)
    assert is_plain(shapes_condition(cells), sides)
    assert is_plain(shapes_condition(cells, 250.0), sides)


def test_fields_of_structs_have_types_of_their_own() -> None:
    box = {"type": "struct", "fields": [{"name": "xmin", "type": "double"}]}
    tags = {"type": "array", "elementType": "string"}
    schema = {
        "fields": [{"name": "h3", "type": "long"}, {"name": "bbox", "type": box}, {"name": "t", "type": tags}]
    }
    assert types_of(schema) == {"h3": "long", "bbox.xmin": "double"}
