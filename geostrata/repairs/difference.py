"""Which rows and keys a repair would add, remove and change, by comparing what is there with what would be. Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Shown of each kind.
EXAMPLES = 5
# Drawn at most: an SVG with more is slow to open, and shows no more.
MOST_BOXES = 4000
_CHANGE, _REMOVED, _ADDED = "_change", "removed", "added"


@dataclass(frozen=True)
class Difference:
    rows_removed: int = 0
    rows_added: int = 0
    # None where no key is known.
    keys_removed: int | None = None
    keys_added: int | None = None
    keys_changed: int | None = None
    # By kind (removed, added, changed): a line each.
    examples: dict[str, list[str]] = field(default_factory=dict)
    # Where: xmin, ymin, xmax, ymax of all that changes.
    extent: tuple[float, float, float, float] | None = None
    # By kind (removed, added), at most MOST_BOXES.
    boxes: dict[str, list[tuple[float, float, float, float]]] = field(default_factory=dict)
    # Columns that only one side has; not compared.
    columns_lost: tuple[str, ...] = ()
    columns_won: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.rows_removed or self.rows_added or self.columns_lost or self.columns_won)

    @property
    def counts(self) -> str:
        told = f"{self.rows_removed:,} rows are missing, {self.rows_added:,} are others"
        return told + (", and the columns differ" if self.columns_lost or self.columns_won else "")


def compare(spark: SparkSession, before: str, after: str | None, keys: Sequence[str]) -> Difference:
    """Two queries, row by row: what is equal on both sides, as often, is no change."""
    from pyspark.sql import functions

    old = spark.sql(before)
    new = spark.sql(after) if after else old.limit(0)
    columns = [name for name in old.columns if name in new.columns]
    left, right = (frame.select(*[_comparable(frame, name) for name in columns]) for frame in (old, new))
    removed = left.exceptAll(right) if after else left
    added = right.exceptAll(left) if after else right
    changes = (
        removed.withColumn(_CHANGE, functions.lit(_REMOVED))
        .unionAll(added.withColumn(_CHANGE, functions.lit(_ADDED)))
        .persist()
    )
    try:
        counts = {row[_CHANGE]: row["count"] for row in changes.groupBy(_CHANGE).count().collect()}
        return Difference(
            rows_removed=counts.get(_REMOVED, 0),
            rows_added=counts.get(_ADDED, 0),
            **(_by_key(changes, [key for key in keys if key in columns]) if counts else {}),
            **(_places(changes) if counts and _has_boxes(changes) else {}),
            columns_lost=tuple(name for name in old.columns if name not in new.columns),
            columns_won=tuple(name for name in new.columns if name not in old.columns),
        )
    finally:
        changes.unpersist()


def _comparable(frame: Any, name: str) -> Any:
    """Spark compares no maps."""
    from pyspark.sql import functions

    column = functions.col(f"`{name}`")
    if "map<" in frame.schema[name].dataType.simpleString():
        return functions.to_json(column).alias(name)
    return column


def _by_key(changes: Any, keys: list[str]) -> dict[str, Any]:
    from pyspark.sql import functions

    if not keys:
        return {"examples": _row_examples(changes)}
    names = [functions.col(f"`{key}`") for key in keys]
    gone = functions.max(functions.col(_CHANGE) == _REMOVED)
    come = functions.max(functions.col(_CHANGE) == _ADDED)
    kind = functions.when(gone & come, "changed").when(gone, _REMOVED).otherwise(_ADDED)
    kinds = changes.groupBy(*names).agg(kind.alias("kind")).persist()
    try:
        counts = {row["kind"]: row["count"] for row in kinds.groupBy("kind").count().collect()}
        examples = {}
        for found in counts:
            chosen = kinds.filter(functions.col("kind") == found).orderBy(*names).limit(EXAMPLES).collect()
            wanted = [tuple(row[key] for key in keys) for row in chosen]
            rows = _rows_of(changes, keys, wanted) if found == "changed" else []
            examples[found] = [_example(keys, key, rows) for key in wanted]
    finally:
        kinds.unpersist()
    return {
        "keys_removed": counts.get(_REMOVED, 0),
        "keys_added": counts.get(_ADDED, 0),
        "keys_changed": counts.get("changed", 0),
        "examples": examples,
    }


def _rows_of(changes: Any, keys: list[str], wanted: list[tuple[Any, ...]]) -> list[Any]:
    from functools import reduce

    from pyspark.sql import functions

    def is_one(key: tuple[Any, ...]) -> Any:
        same = [
            functions.col(f"`{name}`").eqNullSafe(functions.lit(value))
            for name, value in zip(keys, key, strict=True)
        ]
        return reduce(lambda left, right: left & right, same)

    rows = changes.filter(reduce(lambda left, right: left | right, [is_one(key) for key in wanted]))
    found: list[Any] = rows.limit(EXAMPLES * 4).collect()
    return found


def _example(keys: list[str], key: tuple[Any, ...], rows: list[Any]) -> str:
    told = ", ".join(str(value) for value in key)
    mine = [row for row in rows if tuple(row[name] for name in keys) == key]
    old = next((row for row in mine if row[_CHANGE] == _REMOVED), None)
    new = next((row for row in mine if row[_CHANGE] == _ADDED), None)
    if old is None or new is None:
        return told
    moved = [
        f"{name} {_value(old[name])} -> {_value(new[name])}"
        for name in old.asDict()
        if name != _CHANGE and old[name] != new[name]
    ]
    return f"{told}: {'; '.join(moved[:3])}" + (f" and {len(moved) - 3} more" if len(moved) > 3 else "")


def _row_examples(changes: Any) -> dict[str, list[str]]:
    from pyspark.sql import functions

    found = {}
    for kind in (_REMOVED, _ADDED):
        rows = changes.filter(functions.col(_CHANGE) == kind).drop(_CHANGE).limit(EXAMPLES).collect()
        if rows:
            found[kind] = [", ".join(f"{name} {_value(row[name])}" for name in row.asDict()) for row in rows]
    return found


def _value(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        return f"({len(value)} bytes)"
    if hasattr(value, "asDict"):
        return "(" + ", ".join(_value(part) for part in value) + ")"
    text = "null" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _has_boxes(changes: Any) -> bool:
    kinds = dict(changes.dtypes).get("bbox", "")
    return all(f"{side}:" in kinds for side in ("xmin", "ymin", "xmax", "ymax"))


def _places(changes: Any) -> dict[str, Any]:
    from pyspark.sql import functions

    placed = changes.filter("bbox.xmin is not null")
    whole = placed.agg(
        functions.min("bbox.xmin"),
        functions.min("bbox.ymin"),
        functions.max("bbox.xmax"),
        functions.max("bbox.ymax"),
    ).collect()[0]
    if whole[0] is None:
        return {}
    boxes: dict[str, list[tuple[float, float, float, float]]] = {}
    rows = placed.select(_CHANGE, "bbox.xmin", "bbox.ymin", "bbox.xmax", "bbox.ymax").limit(MOST_BOXES)
    for kind, *box in rows.collect():
        boxes.setdefault(kind, []).append((box[0], box[1], box[2], box[3]))
    return {"extent": tuple(whole), "boxes": boxes}
