"""Tables and columns through the session's own catalog: one call where SQL needs a statement a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    name: str
    is_view: bool
    provider: str | None


def list_tables(spark: Any, schema: str) -> list[Table]:
    """All tables and views of a schema, or none if there is no such schema."""
    catalog = spark._jsparkSession.sharedState().externalCatalog()
    if not catalog.databaseExists(schema):
        return []
    tables = catalog.getTablesByName(schema, catalog.listTables(schema))
    return [_table(table) for table in spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(tables)]


def _table(table: Any) -> Table:
    provider = table.provider()
    return Table(
        name=table.identifier().table(),
        is_view=table.tableType().name() == "VIEW",
        provider=provider.get().lower() if provider.isDefined() else None,
    )


def columns(spark: Any, name: str) -> list[tuple[str, str]]:
    """Name and type of each column of a table, view or temporary view."""
    return [
        # Spark turns char(n) and varchar(n) into strings and keeps what was declared here.
        (column.name, column.metadata.get("__CHAR_VARCHAR_TYPE_STRING") or column.dataType.simpleString())
        for column in spark.table(name).schema.fields
    ]


def location(spark: Any, name: str) -> str:
    """Where a table's files are, as a path: a URI's text would write a blank as %20."""
    state = spark._jsparkSession.sessionState()
    table = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name))
    return str(spark._jvm.org.apache.hadoop.fs.Path(table.location()).toString())


def unnamed_location(spark: Any, name: str, location: str | None) -> str | None:
    """Where a Delta table lies that a run wrote and was killed before the catalog knew of it; none where there is none. That is
    where the table is to be: `location`, or where the catalog puts it."""
    state = spark._jsparkSession.sessionState()
    if location is None:
        place = state.catalog().defaultTablePath(state.sqlParser().parseTableIdentifier(name))
        location = str(spark._jvm.org.apache.hadoop.fs.Path(place).toString())
    is_there = spark._jvm.io.delta.tables.DeltaTable.isDeltaTable(spark._jsparkSession, location)
    return location if is_there else None


def delta_properties(spark: Any, name: str) -> dict[str, str]:
    """A Delta table's properties as its log has them."""
    configuration = snapshot(spark, name).metadata().configuration()
    return dict(spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(configuration))


def delta_bytes(spark: Any, name: str) -> int:
    """Bytes of the data files of a Delta table's present version."""
    return int(snapshot(spark, name).sizeInBytes())


def snapshot(spark: Any, name: str) -> Any:
    """Delta's own object for a table's newest version."""
    session = spark._jsparkSession
    identifier = session.sessionState().sqlParser().parseTableIdentifier(name)
    return spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTableWithSnapshot(session, identifier)._2()
