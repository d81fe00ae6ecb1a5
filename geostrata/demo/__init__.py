"""The demo: a generated town whose files land for the lakehouse, with known faults planted.

`geostrata demo` calls add_arguments and run; tests and other code call generate.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from geostrata.demo.command import add_arguments, default_landing, run
from geostrata.demo.errors import DemoError

__all__ = ["DemoError", "add_arguments", "default_landing", "generate", "run"]


def generate(
    out: Path,
    *,
    scale: float = 1,
    seed: int = 1,
    days: int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> dict[str, Any]:
    """Brings the landing folder `out` to so many days and returns its cumulative manifest."""
    # Imported late: the command line lists its commands without loading numpy and the rest.
    from geostrata.demo.generation import generate as generate_landing

    return generate_landing(out, scale=scale, seed=seed, days=days, progress=progress)
