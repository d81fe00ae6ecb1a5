"""Rows that were forgotten stay so when their files are read again: the table that a full refresh replaces knows them by their marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geostrata.history import layers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Made from the run, not read from the file.
_OF_THE_RUN = ("_ingested_at", "_batch_id", "_row_id")


def forgotten_rows(spark: SparkSession, table: str, landed: list[str], view: str) -> dict[str, Any] | None:
    """The view, the condition by which it is joined, and the columns of all rows as they are then; none if nothing was forgotten."""
    present = spark.table(table)
    if "_corrupt_record" not in present.columns:
        return None
    # A table from before deliveries were numbered has other ids.
    known_by = (
        ["_row_id"] if "_delivery" in present.columns else ["_source_file", "_source_mtime", "_source_row"]
    )
    marked = present.where(layers.is_marked("_corrupt_record")).select(*known_by, "_corrupt_record")
    rows = marked.localCheckpoint()
    if rows.isEmpty():
        return None
    rows.createOrReplaceTempView(view)
    emptied = layers.emptied_row(landed, "forgotten._corrupt_record")
    names = list(landed) + list(_OF_THE_RUN)
    return {
        "view": view,
        "condition": " and ".join(f"landed.{name} = forgotten.{name}" for name in known_by),
        "columns": [
            f"case when forgotten._corrupt_record is null then landed.`{name}` else {emptied[name]} end as `{name}`"
            if name in emptied
            else f"landed.`{name}`"
            for name in names
        ],
    }
