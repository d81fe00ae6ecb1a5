"""What must be known of tables, asked of the Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.sedona.table_figures import TableState

from geostrata.layout import columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def state(spark: SparkSession, name: str) -> TableState | None:
    """None if there is no such table, or it is no Delta table."""
    session = spark._jsparkSession.sessionState()
    identifier = session.sqlParser().parseTableIdentifier(name)
    if not session.catalog().tableExists(identifier):
        return None
    provider = session.catalog().getTableMetadata(identifier).provider()
    is_delta = provider.isDefined() and provider.get().lower() == "delta"
    return TableState(spark, name) if is_delta else None


def columns_of_query(spark: SparkSession, sql: str) -> dict[str, str]:
    """Spark only analyses the query; nothing is run. A query with a mistake has none: the statement that creates the table
    reports it better."""
    from pyspark.errors import AnalysisException

    try:
        return columns.leaves_of_json(spark.sql(sql).schema.json())
    except AnalysisException:
        return {}


def columns_of_types(spark: SparkSession, types: dict[str, str]) -> dict[str, str]:
    """Of declared types, as a contract has them. One that is none is for dbt's own check of the contract to report."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import StructType

    if not types:
        return {}
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    try:
        return columns.leaves_of_json(StructType.fromDDL(ddl).json())
    except AnalysisException:
        return {}
