"""Repair of tables, called from Jinja on the driver: see macros/lifecycle."""

from typing import Any

from geostrata.repairs import command as repair


def repair_table(spark: Any, command: str) -> str:
    """Shows, or does, a repair; returns what is to be said."""
    return repair.run_in(spark, command)
