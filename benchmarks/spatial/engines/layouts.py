"""Orders of a table's rows, made as the layout hook makes them: the same statements, the same size of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geostrata.tables.file_size import target_size


def zorder(session: Any, table: Path, *columns: str, target_file_size: str = "auto") -> None:
    """As `layout: {zorder: [...], target_file_size: ...}` does."""
    _set_file_size(session, table, target_file_size)
    session.sql(f"optimize delta.`{table}` zorder by ({', '.join(columns)})")


def cluster(session: Any, source: Path, table: Path, *columns: str) -> None:
    """As `layout: {cluster_by: [...]}` does."""
    schema = session.sql(f"select * from delta.`{source}`").schema
    fields = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)
    session.sql(f"create table delta.`{table}` ({fields}) using delta cluster by ({', '.join(columns)})")
    session.sql(f"insert into delta.`{table}` select * from delta.`{source}`")
    _set_file_size(session, table)
    session.sql(f"optimize delta.`{table}`")


def _set_file_size(session: Any, table: Path, wanted: str = "auto") -> None:
    now = session.sql(f"describe detail delta.`{table}`").first()["sizeInBytes"]
    size = target_size({"target_file_size": wanted}, {}, now)
    session.conf.set("spark.databricks.delta.optimize.maxFileSize", size)
