"""What `dbt docs generate` shows of a table: columns with whole types and comments, owner, size and number of rows.

dbt-spark reads the text of `show table extended`, in which nested columns lose their fields and Delta tables their sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

logger = AdapterLogger("Sedona")

_DESCRIBED = [
    "table_comment",
    "table_owner",
    "column_name",
    "column_type",
    "column_comment",
    "table_name",
    "table_schema",
]


@dataclass
class Described:
    """The answer of `describe table extended`: columns, then facts about the table."""

    columns: list[tuple[str, str, str | None]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, rows: list[tuple[str, str, str | None]]) -> Described:
        described, in_columns = cls(), True
        for name, value, comment in rows:
            # A blank line or a heading ends the columns; partition columns follow once more.
            in_columns = in_columns and bool(name) and not name.startswith("#")
            if in_columns:
                described.columns.append((name, value, comment or None))
            elif name and not name.startswith("#"):
                described.facts.setdefault(name, value)
        return described

    @property
    def is_delta(self) -> bool:
        return self.facts.get("Provider", "").lower() == "delta"


def rows_of(adapter: Any, relation: Any) -> list[dict[str, Any]]:
    """One row a column, as dbt's catalog wants it. A table that can't be read is left out, and named in the log."""
    try:
        return _rows_of(adapter, relation)
    except DbtRuntimeError as error:
        logger.warning(f"{relation} is left out of the docs: {error.msg}")
        return []


def text_columns() -> list[str]:
    """Columns that are text whatever they look like: a comment `2024` is no number."""
    return _DESCRIBED


def _rows_of(adapter: Any, relation: Any) -> list[dict[str, Any]]:
    _, table = adapter.execute(f"describe table extended {relation}", fetch=True)
    described = Described.parse([tuple(row) for row in table.rows])
    stats = _delta_stats(adapter, relation) if described.is_delta else {}
    return [
        {
            "table_database": None,
            "table_schema": relation.schema,
            "table_name": relation.identifier,
            "table_type": relation.type,
            "table_comment": described.facts.get("Comment") or None,
            "table_owner": described.facts.get("Owner") or None,
            "column_name": name,
            "column_index": index,
            "column_type": data_type,
            "column_comment": comment,
            **stats,
        }
        for index, (name, data_type, comment) in enumerate(described.columns)
    ]


def _delta_stats(adapter: Any, relation: Any) -> dict[str, Any]:
    """Size and rows from Delta's log alone: no data file is opened."""
    size = adapter.delta_bytes(relation)
    _, count = adapter.execute(f"select count(*) from {relation}", fetch=True)
    return {
        **_stat("bytes", "Size", size, "Bytes of the data files of the present version"),
        **_stat("rows", "Rows", count.rows[0][0], "Rows of the present version"),
    }


def _stat(name: str, label: str, value: Any, description: str) -> dict[str, Any]:
    return {
        f"stats:{name}:label": label,
        f"stats:{name}:value": int(value),
        f"stats:{name}:description": description,
        f"stats:{name}:include": True,
    }
