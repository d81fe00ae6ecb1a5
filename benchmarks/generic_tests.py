"""`make bench-tests`: the tests of shapes on coverages of two sizes, by dbt, against looking at every shape once.

Tests are compared with `is_topologically_valid`, for which GEOS reads and judges each shape by itself: what the others take beyond that is
for finding neighbours. Seconds a million rows must not grow from the smaller size to the larger.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import shapely
import yaml

from geostrata import dbt_calls, settings, text_table

ROOT = Path(__file__).resolve().parents[1]
# The tests' own project with nothing but the macros, and their shapes.
sys.path.insert(0, str(ROOT / "tests/python/spatial"))
from coverages import TOWN, cells  # noqa: E402  # found by the line above
from workbench import Workbench  # noqa: E402  # found by the line above

BASE = "is_topologically_valid"


def main() -> int:
    rows = _arguments().rows
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(Path(folder) / "project", Path(folder) / "state")
        bench.project.mkdir()
        bench.write_project()
        # With the optimising compiler, which the tests do without.
        shutil.copy(ROOT / "profiles/profiles.yml", bench.project / "profiles/profiles.yml")
        os.environ[settings.STATE_VARIABLE] = str(bench.state)
        os.chdir(bench.project)
        # Once to warm up.
        found = [_seconds(bench, size) for size in (rows // 10, rows // 10, rows)][1:]
        from dbt.adapters.sedona import session

        session.stop()
    print(_table(found, [rows // 10, rows]))
    return 0


def _seconds(bench: Workbench, rows: int) -> dict[str, float]:
    """Of each test; all pass, or it is no measure."""
    shapes = cells(across=round(np.sqrt(rows)))
    wkb = pa.array(shapely.to_wkb(shapes), pa.binary())
    given = bench.table("cells", pa.table({"cell_id": np.arange(len(shapes)), "geometry": wkb}))
    to = bench.table("town", pa.table({"town_id": [1], "geometry": [shapely.to_wkb(TOWN)]}))
    bench.write({"cells": f"select * from {given}"})
    key = {"key": "cell_id"}
    tests = {
        BASE: key,
        "no_slivers": key,
        "same_area_as": {"to": to},
        "no_duplicate_geometry": key,
        "within_distance_of": {"to": to, "distance_m": 0, **key},
        "covered_by": {"to": to, **key},
        "no_overlaps": key,
        "no_gaps_within": {"outer": to, "key": "town_id"},
    }
    described = [{name: {"name": name, "arguments": asked}} for name, asked in tests.items()]
    text = yaml.safe_dump({"models": [{"name": "cells", "data_tests": described}]}, sort_keys=False)
    (bench.project / "models/_cells.yml").write_text(text)
    outcome = dbt_calls.invoke(["build", "--select", "cells", "--threads", "1"])
    if not outcome.success:
        raise SystemExit(dbt_calls.first_line(outcome))
    return {
        result.node.name: result.execution_time
        for result in outcome.result.results
        if result.node.resource_type == "test"
    }


def _table(found: list[dict[str, float]], sizes: list[int]) -> str:
    small, large = found
    header = ["", *(f"s, {size:,} rows" for size in sizes), f"of {BASE}", "of the smaller, a row"]
    rows = [
        [
            name,
            f"{small[name]:.1f}",
            f"{large[name]:.1f}",
            f"{large[name] / large[BASE]:.1f}",
            f"{large[name] / small[name] * sizes[0] / sizes[1]:.2f}",
        ]
        for name in sorted(large, key=lambda name: large[name])
    ]
    return text_table.render(header, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-tests", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
