"""Maintenance of tables, called from Jinja on the driver: see macros/lifecycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geostrata.tables import maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def maintain_tables(spark: SparkSession, tables: list[str], is_applied: bool) -> str:
    """Plans, or does, what tables need; returns what is to be said."""
    return maintain.run_in(spark, list(tables), is_applied)
