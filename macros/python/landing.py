"""Lists and loads landed files. Called from Jinja, on the driver: see macros/landing/landed_rows.sql."""

from typing import Any

from geostrata import landing
from geostrata.readers import LandedFile


def list_landed_files(spark: Any, source: dict[str, Any]) -> list[list[Any]] | None:
    """[path, bytes, time in milliseconds] of each file of the source; none if there is no such folder."""
    found = landing.list_files(landing.Declaration.of(**source), landing.Storage.of_session(spark))
    return None if found is None else [[file.path, file.size, file.modified_ms] for file in found]


def plan_landed_rows(
    spark: Any,
    source: dict[str, Any],
    listing: list[list[Any]],
    loaded_by: str | None,
    may_grow: bool,
    view: str,
) -> dict[str, Any]:
    """Makes a temporary view of the rows of all files that the table `loaded_by` does not hold yet."""
    declared = landing.Declaration.of(**source).with_columns(_columns_since(spark, source, loaded_by))
    files = [LandedFile(*entry) for entry in listing]
    plan = landing.plan(spark, declared, files, _loaded(spark, loaded_by) if files else ())
    if may_grow:
        declared = declared.with_columns(plan.new_columns)
    landing.landed_rows(spark, declared, plan.files).createOrReplaceTempView(view)
    return {"files": len(plan.files), "messages": plan.messages, "is_settled": plan.is_settled}


def _columns_since(spark: Any, source: dict[str, Any], table: str | None) -> dict[str, str]:
    """Columns that the table has gained beyond the declared ones."""
    if table is None or source["external"].get("schema_policy") != "additive":
        return {}
    return {
        column.name: column.dataType.simpleString()
        for column in spark.table(table).schema
        if column.name not in source["columns"] and not column.name.startswith("_")
    }


def _loaded(spark: Any, table: str | None) -> list[tuple[str, int]]:
    if table is None:
        return []
    rows = spark.sql(f"select distinct _source_file, unix_millis(_source_mtime) as modified_ms from {table}")
    return [(row["_source_file"], row["modified_ms"]) for row in rows.toArrow().to_pylist()]
