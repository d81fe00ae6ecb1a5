"""`make bench-layout`: bytes that Spark reads for random windows on one table, by the order of its rows.

Windows of a ten-thousandth to four hundredths of the area, half of them where the points are, the same for every order. What is
read is compared with an ideal: the bytes of just the rows inside, at the table's mean bytes a row. Every order gives the same rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.spatial.data import EAST, NORTH, SOUTH, WEST, Data, places
from benchmarks.spatial.engines import layouts, spark
from geostrata import text_table
from geostrata.tables.file_size import target_size

Box = tuple[float, float, float, float]

_SHARES = (1e-4, 0.04)


@dataclass(frozen=True)
class Found:
    order: str
    made_s: float
    files: int
    size: int
    read: list[int]
    of_files: list[int]
    rows: list[int]
    all_rows: int

    def of_ideal(self, read: list[int]) -> float:
        """The middle of all windows: one that hits a handful of rows says little of the others."""
        a_row = self.size / self.all_rows
        return statistics.median(
            size / (rows * a_row) for size, rows in zip(read, self.rows, strict=True) if rows
        )


def main() -> int:
    args = _arguments()
    data = Data(args.folder / "data", round(args.size * 1e6))
    windows = random_windows(args.windows)
    with tempfile.TemporaryDirectory(prefix="bench-layout-") as scratch:
        session = spark.session(Path(scratch))
        try:
            found = _measured(session, Path(scratch), data, windows)
        finally:
            spark.stop()
    print(_table(found, args))
    with (args.folder / "layout.jsonl").open("w") as results:
        results.writelines(json.dumps(vars(one)) + "\n" for one in found)
    differing = [one.order for one in found if one.rows != found[0].rows]
    if differing:
        print(f"WRONG: other rows than {found[0].order} has: {', '.join(differing)}")
    return 1 if differing else 0


def random_windows(count: int) -> list[Box]:
    chance = np.random.default_rng(41)
    smallest, largest = np.log(_SHARES)
    sides = np.sqrt(np.exp(chance.uniform(smallest, largest, count)))[:, None]
    crowded = np.arange(count) % 2 == 0
    middle = np.where(
        crowded[:, None],
        places(count, seed=42),
        chance.uniform((WEST, SOUTH), (EAST, NORTH), (count, 2)),
    )
    half = sides * (EAST - WEST, NORTH - SOUTH) / 2
    return [tuple(box) for box in np.hstack([middle - half, middle + half]).tolist()]


def _measured(session: Any, scratch: Path, data: Data, windows: list[Box]) -> list[Found]:
    plain = scratch / "plain"
    points = spark.with_contract(session.read.parquet(str(data.file("points"))))
    points.write.format("delta").save(str(plain))
    found = []
    for order, make in _orders(session, plain).items():
        table = scratch / order.replace(" ", "_")
        began = time.monotonic()
        make(table)
        made_s = time.monotonic() - began
        found.append(_asked(session, order, table, windows, made_s))
        print(f"{order}: made in {made_s:.0f} s", file=sys.stderr)
    return found


def _orders(session: Any, plain: Path) -> dict[str, Callable[[Path], None]]:
    def copied(table: Path) -> None:
        session.read.format("delta").load(str(plain)).write.format("delta").save(str(table))

    def zordered(*columns: str) -> Callable[[Path], None]:
        def make(table: Path) -> None:
            copied(table)
            layouts.zorder(session, table, *columns)

        return make

    def sorted_by_range(table: Path) -> None:
        rows = session.read.format("delta").load(str(plain))
        files = max(1, spark.folder_bytes(plain) // target_size(None, {}, spark.folder_bytes(plain)))
        ranges = rows.repartitionByRange(files, "h3").sortWithinPartitions("h3")
        ranges.write.format("delta").save(str(table))

    return {
        "raw": copied,
        "Z-order on H3": zordered("h3"),
        "Z-order on bbox": zordered("bbox.xmin", "bbox.ymin"),
        "liquid on bbox": lambda table: layouts.cluster(session, plain, table, "bbox.xmin", "bbox.ymin"),
        "liquid on H3": lambda table: layouts.cluster(session, plain, table, "h3"),
        "sorted by H3": sorted_by_range,
    }


def _asked(session: Any, order: str, table: Path, windows: list[Box], made_s: float) -> Found:
    detail = session.sql(f"describe detail delta.`{table}`").first()
    read, of_files, rows = [], [], []
    for window in windows:
        frame = _within(session, table, window)
        rows.append(frame.toArrow().num_rows)
        of_files.append(spark.bytes_of_files(frame))
        read.append(spark.bytes_read(frame, _within(session, table, spark.NOWHERE)))
    every = session.sql(f"select count(*) from delta.`{table}`").first()[0]
    return Found(order, made_s, detail["numFiles"], detail["sizeInBytes"], read, of_files, rows, every)


def _within(session: Any, table: Path, window: Box) -> Any:
    """All columns, as in the ideal. The exact predicate of within_window is left out: of points it is the same."""
    west, south, east, north = window
    return session.sql(
        f"""select * from delta.`{table}`
        where bbox.xmin <= {east} and bbox.xmax >= {west} and bbox.ymin <= {north} and bbox.ymax >= {south}"""
    )


def _table(found: list[Found], args: argparse.Namespace) -> str:
    raw = sum(found[0].read)
    rows = [
        [
            one.order,
            f"{one.files:,}",
            f"{one.size / (1 << 20):,.0f}",
            f"{one.made_s:.0f}",
            f"{sum(one.read) / (1 << 20):,.0f}",
            f"{sum(one.read) / raw:.3f}",
            f"{one.of_ideal(one.read):.2f}",
            f"{one.of_ideal(one.of_files):.2f}",
        ]
        for one in found
    ]
    header = ["", "files", "MB", "made in s", "MB read", "of raw", "of ideal", "files of ideal"]
    return f"{args.windows} windows on {args.size:g} million points\n" + text_table.render(header, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-layout", description=__doc__)
    parser.add_argument("--size", type=float, default=2, help="millions of points")
    parser.add_argument("--windows", type=int, default=100)
    parser.add_argument(
        "--folder", type=Path, default=Path("target/bench"), help="where data and results are kept"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
