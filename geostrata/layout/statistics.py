"""Which columns' least and greatest values Delta keeps for each file: what queries leave files out by, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from geostrata.layout.columns import find, has_statistics, is_text
from geostrata.layout.declared import Model

PROPERTY = "delta.dataSkippingStatsColumns"
# The other way to say it: the first so many columns.
BY_NUMBER = "delta.dataSkippingNumIndexedCols"


def wanted(model: Model, columns: Mapping[str, str]) -> str:
    """Numbers and times, and of text only keys and what the files are ordered by. Other text is long or rarely asked for, and
    paths begin alike; WKB has no order."""
    partitions = {find(name, columns) for name in model.partition_by}
    ordered = {find(name, columns) for name in (*model.layout.order, *model.keys)}
    chosen = [
        name
        for name, kind in columns.items()
        if name not in partitions
        and has_statistics(kind)
        and (not is_text(kind) or name in ordered or name.replace("`", "").endswith("_id"))
    ]
    return ",".join(chosen)


def is_declared(model: Model) -> bool:
    """True if the project says itself which columns have statistics."""
    return PROPERTY in model.properties or BY_NUMBER in model.properties


def lacking(model: Model, columns: Mapping[str, str]) -> list[str]:
    """Columns to order by for which the declared properties keep no statistics."""
    if PROPERTY in model.properties:
        kept = {part.strip().replace("`", "").lower() for part in model.properties[PROPERTY].split(",")}
        return [name for name in model.layout.order if not _covers(kept, name.replace("`", "").lower())]
    if BY_NUMBER in model.properties and columns:
        number = int(model.properties[BY_NUMBER])
        first = list(columns)[:number] if number >= 0 else list(columns)
        return [name for name in model.layout.order if (known := find(name, columns)) and known not in first]
    return []


def _covers(kept: set[str], name: str) -> bool:
    """A struct that is named covers its fields."""
    parts = name.split(".")
    return any(".".join(parts[:length]) in kept for length in range(1, len(parts) + 1))
