"""`make bench-landing`: rows a second and peak memory of landing, by format and size, against GeoPandas and deltalake.

Per format and size, on the same file: landing into a Delta table (look, read, write), the safe examination of the geometry alone,
and the obvious way, `geopandas.read_file` and `write_deltalake`, which takes sound files only, and whole. Then the same ten new files
landed beside few and many that are loaded already. Only ratios of one run say anything: machines differ and are shared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from dbt.adapters.sedona import python_macros
from pyogrio.raw import write
from pyspark.sql.functions import current_timestamp

from geostrata import text_table
from geostrata.readers.spec import FORMATS

COLUMNS = {"thing_id": "string", "name": "string", "amount": "double"}
TEXT = ("csv", "geojson", "geojsonl", "jsonl")
_PEER = """
import re, sys, time
from pathlib import Path
import geopandas, pandas, shapely
from deltalake import write_deltalake
kind, path, target = sys.argv[1:]
began = time.monotonic()
if kind in ("parquet", "geoparquet"):
    frame = pandas.read_parquet(path)
    shapes = shapely.from_wkb(frame["geometry"].to_numpy())
elif kind in ("csv", "jsonl"):
    frame = pandas.read_csv(path) if kind == "csv" else pandas.read_json(path, lines=True)
    shapes = shapely.from_wkt(frame["geometry"].to_numpy())
else:
    frame = geopandas.read_file(path)
    shapes = frame.geometry.array
frame = geopandas.GeoDataFrame(frame.drop(columns="geometry"), geometry=shapes, crs="EPSG:4326")
frame["is_valid"] = frame.geometry.is_valid
frame = pandas.DataFrame(frame.to_wkb())
write_deltalake(target, frame)
took = time.monotonic() - began
# Not getrusage: a process inherits that peak from the one that it was forked from.
print(took, int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=FORMATS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loaded", type=int, nargs="+", default=[100, 10_000])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), args.repeats)
        rows = [bench.measure(name, count) for name in args.formats for count in args.rows]
        header = [
            "",
            "rows",
            "land rows/s",
            "peak MB",
            "examine rows/s",
            "peer rows/s",
            "peak MB",
            "speed",
            "memory",
        ]
        print(text_table.render(header, rows))
        print(
            "\n  speed and memory: landing as a part of the peer's. The JVM's own memory is counted as landing's.\n"
        )
        print(
            text_table.render(
                ["files loaded already", "seconds for ten more", "of the first"], bench.growth(args.loaded)
            )
        )
    return 0


class Bench:
    def __init__(self, folder: Path, repeats: int) -> None:
        from dbt.adapters.sedona import session
        from dbt.adapters.sedona.connections import SedonaCredentials
        from dbt.adapters.sedona.python_macros import Folders

        self.folder, self.repeats = folder, repeats
        credentials = SedonaCredentials(
            schema="bench",
            state_dir=str(folder / "state"),
            python_preload=["pandas", "geostrata.geometry", "geostrata.landing.tasks"],
        )
        settings = credentials.session_settings(folder)
        macros = Path(__file__).resolve().parents[1] / "macros" / "python"
        session.register_python_macros(settings, Folders(own=(macros,)))
        self.spark = session.thread_session(settings)

    def measure(self, name: str, count: int) -> list[str]:
        print(f"  {name}, {count:,} rows", file=sys.stderr, flush=True)
        path = write_file(self.folder / f"{name}_{count}", name, count)
        source = self._source(name, path.parent)
        target = self.folder / f"{name}_{count}.delta"
        self._land(source, target)
        land_s, land_mb = self._median(lambda: self._land(source, target))
        examine_s, _ = self._median(lambda: self._examine(target))
        peer_s, peer_mb = self._peer(name, path)
        return [
            name,
            f"{count:,}",
            f"{count / land_s:,.0f}",
            f"{land_mb:,.0f}",
            f"{count / examine_s:,.0f}",
            f"{count / peer_s:,.0f}",
            f"{peer_mb:,.0f}",
            f"{peer_s / land_s:.2f}",
            f"{land_mb / peer_mb:.2f}",
        ]

    def growth(self, counts: list[int]) -> list[list[str]]:
        """Ten new files of a hundred rows, beside so many others."""
        found: list[float] = []
        for count in counts:
            print(f"  ten files beside {count:,}", file=sys.stderr, flush=True)
            folder = self.folder / f"many_{count}"
            write_small_files(folder, 0, count)
            source = self._source("csv", folder)
            target = self.folder / f"many_{count}.delta"
            self._land(source, target)
            write_small_files(folder, count, 10)
            began = time.monotonic()
            self._land(source, target, is_append=True)
            found.append(time.monotonic() - began)
        return [
            [f"{count:,}", f"{seconds:.1f}", f"{seconds / found[0]:.2f}"]
            for count, seconds in zip(counts, found, strict=True)
        ]

    def _source(self, name: str, folder: Path) -> dict[str, Any]:
        columns = {**COLUMNS, "geometry": "string" if name in TEXT else "binary"}
        external = {"file_format": name}
        return {"name": f"bench.{name}", "location": str(folder), "external": external, "columns": columns}

    def _land(self, source: dict[str, Any], target: Path, is_append: bool = False) -> None:
        """As macros/landing/landed_rows.sql does it."""
        listing = python_macros.call(self.spark, "list_landed_files", {"source": source})["files"]
        arguments = {
            "source": source,
            "listing": listing,
            "known_in": f"delta.`{target}`" if is_append else None,
            "is_refresh": not is_append,
            "released": [],
            "may_drop_missing": False,
            "compared_ms": 0,
            "may_grow": False,
            "view": "landed",
        }
        python_macros.call(self.spark, "plan_landed_rows", arguments)
        rows = self.spark.table("landed").withColumn("_ingested_at", current_timestamp())
        rows.write.format("delta").mode("append" if is_append else "overwrite").save(str(target))

    def _examine(self, source: Path) -> None:
        frame = self.spark.read.format("delta").load(str(source))
        examined = frame.selectExpr(
            "examine_geometry(cast(geometry as binary), 'EPSG:4326', 'xy') as examined"
        )
        examined.write.format("noop").mode("overwrite").save()

    def _median(self, action: Callable[[], None]) -> tuple[float, float]:
        seconds, memory = [], []
        for _ in range(self.repeats):
            with PeakMemory() as peak:
                began = time.monotonic()
                action()
                seconds.append(time.monotonic() - began)
            memory.append(peak.megabytes)
        return statistics.median(seconds), max(memory)

    def _peer(self, name: str, path: Path) -> tuple[float, float]:
        seconds, memory = [], []
        for number in range(self.repeats):
            target = self.folder / f"peer_{path.parent.name}_{number}"
            done = subprocess.run(
                [sys.executable, "-c", _PEER, name, str(path), str(target)],
                check=True,
                capture_output=True,
                text=True,
            )
            took, peak = map(float, done.stdout.split())
            seconds.append(took)
            memory.append(peak)
        return statistics.median(seconds), max(memory)


class PeakMemory:
    """Of all processes below this one (the JVM and its Python workers), sampled."""

    def __enter__(self) -> PeakMemory:
        self.megabytes = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.megabytes = max(self.megabytes, _memory_below(os.getpid()) / 1024)


def _memory_below(root: int) -> int:
    """In kB, shared pages once (Pss), so that forked workers are not counted for what they share."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below and pid not in below}:
        below |= more
    total = 0
    for pid in below - {root}:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def shapes_of(count: int) -> Any:
    """Polygons of 21 corners, somewhere."""
    chance = np.random.default_rng(1)
    centres = np.column_stack([chance.uniform(-170, 170, count), chance.uniform(-80, 80, count)])
    turn = np.linspace(0, 2 * np.pi, 21)[:-1]
    ring = np.column_stack([np.cos(turn), np.sin(turn)]) * 0.01
    return shapely.polygons(centres[:, None, :] + ring)


def write_file(folder: Path, name: str, count: int) -> Path:
    folder.mkdir()
    shapes = shapes_of(count)
    ids = [f"thing {number}" for number in range(count)]
    path = (
        folder
        / f"things.{ {'shapefile': 'shp', 'geopackage': 'gpkg', 'flatgeobuf': 'fgb', 'geoparquet': 'parquet'}.get(name, name) }"
    )
    if name in ("parquet", "geoparquet"):
        table = pa.table(
            {
                "thing_id": ids,
                "name": ids,
                "amount": np.arange(count) / 7,
                "geometry": list(shapely.to_wkb(shapes)),
            }
        )
        pq.write_table(table, path)
    elif name in ("csv", "jsonl"):
        texts = shapely.to_wkt(shapes, -1)
        with path.open("w") as file:
            if name == "csv":
                file.write("thing_id,name,amount,geometry\n")
                file.writelines(
                    f'{key},{key},{at / 7},"{text}"\n'
                    for at, (key, text) in enumerate(zip(ids, texts, strict=True))
                )
            else:
                file.writelines(
                    json.dumps({"thing_id": key, "name": key, "amount": at / 7, "geometry": text}) + "\n"
                    for at, (key, text) in enumerate(zip(ids, texts, strict=True))
                )
    elif name in ("geojson", "geojsonl"):
        texts = shapely.to_geojson(shapes)
        features = (
            f'{{"type":"Feature","properties":{{"thing_id":"{key}","name":"{key}","amount":{at / 7}}},"geometry":{text}}}'
            for at, (key, text) in enumerate(zip(ids, texts, strict=True))
        )
        with path.open("w") as file:
            file.write('{"type":"FeatureCollection","features":[\n' if name == "geojson" else "")
            file.write((",\n" if name == "geojson" else "\n").join(features))
            file.write("]}\n" if name == "geojson" else "\n")
    else:
        drivers = {"shapefile": "ESRI Shapefile", "geopackage": "GPKG", "flatgeobuf": "FlatGeobuf"}
        texts = np.array(ids, dtype=object)
        write(
            path,
            np.array(shapely.to_wkb(shapes), dtype=object),
            field_data=[texts, texts, np.arange(count) / 7],
            fields=np.array(["thing_id", "name", "amount"]),
            geometry_type="Polygon",
            crs="EPSG:4326",
            driver=drivers[name],
        )
    return path


def write_small_files(folder: Path, first: int, count: int) -> None:
    folder.mkdir(exist_ok=True)
    lines = "".join(f'{row},name,{row / 7},"POINT ({row % 90} {row % 45})"\n' for row in range(100))
    for number in range(first, first + count):
        (folder / f"{number:06}.csv").write_text("thing_id,name,amount,geometry\n" + lines)


if __name__ == "__main__":
    sys.exit(main())
