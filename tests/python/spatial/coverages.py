"""Shapes that cover a town without gaps or overlaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

TOWN = shapely.box(10, 48, 11, 49)


def cells(across: int = 12, seed: int = 1) -> Any:
    """A coverage of the town: neighbours share their corners."""
    chance = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(10, 11, across + 1), np.linspace(48, 49, across + 1))
    inner = np.zeros_like(x)
    inner[1:-1, 1:-1] = 0.3 / across
    at = np.stack(
        [x + inner * chance.uniform(-1, 1, x.shape), y + inner * chance.uniform(-1, 1, x.shape)], axis=-1
    )
    corners = [at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1], at[:-1, :-1]]
    return shapely.polygons(np.stack(corners, axis=2).reshape(-1, 5, 2))
