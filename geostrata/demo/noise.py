"""Repeatable randomness: a number that depends only on the seed, a purpose and some keys.

Because no generator state is carried from row to row, any part of any file can be made on its own,
in any order, and always comes out the same.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def uniform(seed: int, purpose: str, *keys: ArrayLike) -> Floats:
    """Numbers in [0, 1), one for each element of the broadcast keys (at least one-dimensional)."""
    start = (seed * _GOLDEN + zlib.crc32(purpose.encode()) * 0xD1B54A32D192ED03) & _MASK
    state = _mix(np.array([start], dtype=np.uint64))
    for key in keys:
        number = np.atleast_1d(np.asarray(key)).astype(np.int64).view(np.uint64)
        state = _mix((state ^ number) + np.uint64(_GOLDEN))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def spread(seed: int, purpose: str, *keys: ArrayLike) -> Floats:
    """Numbers in [-1, 1)."""
    return uniform(seed, purpose, *keys) * 2.0 - 1.0


def below(limit: ArrayLike, seed: int, purpose: str, *keys: ArrayLike) -> Ints:
    """Whole numbers in [0, limit)."""
    numbers: Ints = (uniform(seed, purpose, *keys) * np.asarray(limit)).astype(np.int64)
    return numbers


def shuffled(values: Ints, seed: int, purpose: str, *keys: ArrayLike) -> Ints:
    """The values in a repeatable random order."""
    order = np.argsort(uniform(seed, purpose, *keys, values), kind="stable")
    return values[order]
