"""Budgets of `geostrata audit --fail-on`: a figure, a comparison that must not hold, and a number."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, fields

from geostrata.errors import GeostrataError
from geostrata.tables.health import Health
from geostrata.tables.units import parse_size

_BUDGET = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*(.+?)\s*")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
FIGURES = [field.name for field in fields(Health) if field.name not in ("relation_name", "table_path")]


@dataclass(frozen=True)
class Budget:
    figure: str
    comparison: str
    limit: float
    text: str

    def is_broken_by(self, health: Health) -> bool:
        """A figure that a table does not have (a place, an order) breaks no budget."""
        value = getattr(health, self.figure)
        return value is not None and _COMPARE[self.comparison](value, self.limit)


def parse(text: str) -> Budget:
    match = _BUDGET.fullmatch(text)
    if not match:
        raise GeostrataError(
            f"--fail-on '{text}': write a figure, one of > >= < <=, and a number, such as 'overlap_depth>3'"
        )
    figure, comparison, limit = match.groups()
    if figure not in FIGURES:
        near = difflib.get_close_matches(figure, FIGURES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(FIGURES)}"
        raise GeostrataError(f"--fail-on '{text}': {figure} is no figure of the audit; {hint}")
    return Budget(figure, comparison, _number(limit, figure, text), text.strip())


def _number(limit: str, figure: str, text: str) -> float:
    try:
        if limit.endswith("%"):
            return float(limit[:-1]) / 100
        return float(parse_size(limit)) if figure.endswith("_bytes") else float(limit)
    except ValueError as error:
        raise GeostrataError(f"--fail-on '{text}': '{limit}' is no number that {figure} can have") from error
