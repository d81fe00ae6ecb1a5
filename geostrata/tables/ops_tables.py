"""Appends to the tables in ops that these commands fill. dbt makes them: their columns are those of the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from geostrata.errors import GeostrataError
from geostrata.tables import project
from geostrata.tables.state import is_table

_OPS = "ops"


def require(table: str) -> None:
    if not is_table(project.path_of(_OPS, table)):
        raise GeostrataError(f"{_OPS}.{table} is not built yet: run `dbt run --select {table}` once")


def append(table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """In one commit. Types are the table's own."""
    from deltalake import DeltaTable, write_deltalake
    from deltalake.exceptions import DeltaError

    require(table)
    path = project.path_of(_OPS, table)
    try:
        schema = pa.schema(DeltaTable(path).schema().to_arrow())
        missing = {name for row in rows for name in row} - set(schema.names)
        if missing:
            raise GeostrataError(
                f"{_OPS}.{table} lacks {', '.join(sorted(missing))}: it was built by another version of the "
                f"project; run `dbt run --select {table} --full-refresh`, which adds them and keeps its rows"
            )
        plain = pa.schema([_plain(field) for field in schema])
        write_deltalake(path, pa.Table.from_pylist([dict(row) for row in rows], plain), mode="append")
    except DeltaError as error:
        raise GeostrataError(f"{_OPS}.{table} could not be written: {str(error).splitlines()[0]}") from error


def _plain(field: pa.Field) -> pa.Field:
    """Arrow's newer string types, which deltalake hands out, as pyarrow builds them."""
    return pa.field(field.name, pa.string() if str(field.type).startswith("string") else field.type)
