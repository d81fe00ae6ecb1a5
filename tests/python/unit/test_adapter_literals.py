"""A seed's cells as SQL text."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from dbt.adapters.sedona.connections import _literal


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (Decimal("1.50"), "1.50"),
        ("plain", "'plain'"),
        ("", "''"),
        ("it's", r"'it\'s'"),
        ("back\\slash", r"'back\\slash'"),
        ("100 %", "'100 %'"),
        (datetime.date(2024, 5, 1), "'2024-05-01'"),
        (datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC), "'2024-05-01 12:30:00+00:00'"),
    ],
)
def test_literal(cell: Any, text: str) -> None:
    assert _literal(cell) == text
