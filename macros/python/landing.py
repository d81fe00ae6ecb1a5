"""Lists and loads landed files. Called from Jinja, on the driver: see macros/landing/landed_rows.sql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geostrata import landing
from geostrata.errors import GeostrataError
from geostrata.history import refresh
from geostrata.readers import LandedFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def list_landed_files(
    spark: SparkSession, source: dict[str, Any], others: list[dict[str, Any]]
) -> dict[str, Any]:
    """[path, bytes, time and time of the last change in milliseconds] of each file of the source, none if there is no such folder; and what
    is to be told of the others. Refuses files that also belong to one of the `others`, which the same model loads."""
    declared, skipped = landing.Declaration.of(**source), list[str]()
    found = landing.list_files(declared, landing.Storage.of_session(spark), skipped)
    landing.refuse_shared_files(declared, found or [], [landing.Declaration.of(**other) for other in others])
    files = found and [[file.path, file.size, file.modified_ms, file.changed_ms] for file in found]
    return {"files": files, "messages": landing.skipped_message(declared, skipped)}


def plan_landed_rows(
    spark: SparkSession,
    source: dict[str, Any],
    listing: list[list[Any]],
    known_in: str | None,
    is_refresh: bool,
    released: list[str],
    may_drop_missing: bool,
    compared_ms: int,
    may_grow: bool,
    view: str,
) -> dict[str, Any]:
    """Makes a temporary view of the rows of all files that the table `known_in` does not hold as they are; of all files on a full refresh."""
    declared = landing.Declaration.of(**source)
    if not is_refresh:
        declared = declared.with_columns(_columns_since(spark, source, known_in))
    files = [LandedFile(*entry) for entry in listing]
    known = landing.Known(_deliveries(spark, declared, known_in, is_refresh))
    plan = landing.plan(spark, declared, files, known, is_refresh, released, may_drop_missing, compared_ms)
    if may_grow:
        declared = declared.with_columns(plan.new_columns)
    landing.landed_rows(spark, declared, plan.deliveries).createOrReplaceTempView(view)
    return {"files": len(plan.deliveries), "messages": plan.messages, "is_settled": plan.is_settled}


def forgotten_rows(spark: SparkSession, table: str, landed: str, view: str) -> dict[str, Any] | None:
    """Makes a view of the rows of a bronze table that were forgotten; how the same rows are left empty when they are read again."""
    return refresh.forgotten_rows(spark, table, spark.table(landed).columns, view)


def _columns_since(spark: SparkSession, source: dict[str, Any], table: str | None) -> dict[str, str]:
    """Columns that the table has gained beyond the declared ones."""
    if table is None or source["external"].get("schema_policy") != "additive":
        return {}
    return {
        column.name: column.dataType.simpleString()
        for column in spark.table(table).schema
        if column.name not in source["columns"] and not column.name.startswith("_")
    }


def _deliveries(
    spark: SparkSession, declared: landing.Declaration, table: str | None, is_refresh: bool
) -> list[landing.Delivery]:
    """All that the table holds of this source's files."""
    if table is None:
        return []
    if "_delivery" not in spark.table(table).columns:
        if is_refresh:
            return []
        raise GeostrataError(
            f"{table}: it was made before deliveries were numbered. Run its model with --full-refresh."
        )
    rows = spark.sql(
        f"""
        select
            _source_file as path, _delivery as number, unix_millis(min(_source_mtime)) as modified_ms,
            min(_source_fingerprint) as fingerprint, unix_millis(min(_ingested_at)) as loaded_ms,
            bool_and(_file_problem is null) as is_accepted
        from {table}
        group by _source_file, _delivery
        """
    )
    return [
        landing.Delivery.recorded(**row)
        for row in rows.toArrow().to_pylist()
        if landing.is_of(declared, row["path"])
    ]
