"""Delta tables for tests: real ones, made quickly by deltalake, and a project that knows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema, write_deltalake
from deltalake.transaction import AddAction, create_table_with_add_actions

SIDES = ("xmin", "ymin", "xmax", "ymax")


def shapes(boxes: npt.ArrayLike, first: int = 0, **more: Any) -> pa.Table:
    """A row a box, as silver has them."""
    corners = np.asarray(boxes, float).reshape(-1, 4)
    bbox = pa.StructArray.from_arrays([pa.array(corners[:, side]) for side in range(4)], names=list(SIDES))
    count = len(corners)
    ids = pa.array(range(first, first + count), pa.int64())
    return pa.table({"shape_id": ids, "geometry": pa.array([b"\x01"] * count), "bbox": bbox, **more})


def write_each(path: Path, tables: list[pa.Table], **options: Any) -> DeltaTable:
    """A commit and a file each."""
    for table in tables:
        write_deltalake(path, table, mode="append", **options)
    return DeltaTable(path)


def write_many(path: Path, tables: list[pa.Table], files_a_commit: int = 300) -> DeltaTable:
    """A file each, many in a commit: thousands of files in seconds."""
    path.mkdir(parents=True)
    actions = [_file(path, number, table) for number, table in enumerate(tables)]
    for start in range(0, len(actions), files_a_commit):
        part = actions[start : start + files_a_commit]
        if start:
            table = DeltaTable(path)
            table.create_write_transaction(part, "append", table.schema())
        else:
            create_table_with_add_actions(str(path), Schema.from_arrow(tables[0].schema), part)
    return DeltaTable(path)


def _file(path: Path, number: int, table: pa.Table) -> AddAction:
    name = f"part-{number:05d}.parquet"
    pq.write_table(table, path / name)
    bbox = table["bbox"].combine_chunks()
    sides = {side: bbox.field(side).to_numpy() for side in SIDES}
    ids = table["shape_id"].to_numpy()
    stats = {
        "numRecords": table.num_rows,
        "minValues": {"shape_id": int(ids.min()), "bbox": {s: float(v.min()) for s, v in sides.items()}},
        "maxValues": {"shape_id": int(ids.max()), "bbox": {s: float(v.max()) for s, v in sides.items()}},
        "nullCount": {"shape_id": 0, "bbox": dict.fromkeys(SIDES, 0)},
    }
    status = (path / name).stat()
    return AddAction(name, status.st_size, {}, status.st_mtime_ns // 1_000_000, True, json.dumps(stats))


def write_project(folder: Path, tables: dict[str, dict[str, Any]]) -> None:
    """A dbt project as its manifest has it: `schema.model: {config, tags}`."""
    nodes = {}
    for name, described in tables.items():
        schema, model = name.split(".")
        nodes[f"model.trial.{name}"] = {
            "name": model,
            "alias": model,
            "schema": schema,
            "resource_type": "model",
            "tags": described.get("tags", []),
            "config": {"materialized": "table", **described.get("config", {})},
        }
    (folder / "target").mkdir(parents=True, exist_ok=True)
    (folder / "dbt_project.yml").write_text("name: trial\n")
    (folder / "target/manifest.json").write_text(json.dumps({"nodes": nodes}))
