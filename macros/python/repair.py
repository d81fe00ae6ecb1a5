"""Repair of tables, called from Jinja on the driver: see macros/lifecycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geostrata.repairs import command as repair

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def repair_table(spark: SparkSession, command: str) -> str:
    """Shows, or does, a repair; returns what is to be said."""
    return repair.run_in(spark, command)
