"""Maintenance of tables, called from Jinja on the driver: see macros/lifecycle."""

from typing import Any

from geostrata.tables import maintain


def maintain_tables(spark: Any, tables: list[str], is_applied: bool) -> str:
    """Plans, or does, what tables need; returns what is to be said."""
    return maintain.run_in(spark, list(tables), is_applied)
