"""Takes all that was landed under a key out of every table. Dry unless it is applied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.sedona.relations import list_tables

from geostrata.history import guards, layers, removal
from geostrata.history.layers import (
    CHECKED,
    ENTITY,
    FOREIGN,
    GONE,
    KEYS,
    LANDED,
    ROWS,
    STRAY,
    VALUES,
    Request,
    Table,
)
from geostrata.history.removal import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES_TOLD = 20


def run(
    spark: SparkSession, request: Request, given: list[dict[str, str]], log: str, is_applied: bool
) -> str:
    """Shows, or does, what is to be done; returns what is to be said."""
    request.check()
    tables = [table for entry in given if (table := removal.table_of(spark, entry))]
    guards.check_column(request, tables)
    _register(spark, request, tables)
    found = removal.steps_of(spark, [*tables, *_strays(spark, given)], request)
    own = [step for step in found if step.table.role not in (FOREIGN, STRAY)]
    lines = _found(request, own, [step for step in found if step not in own])
    if not own:
        return "\n".join(lines)
    guards.check_judged(spark, tables)
    guards.check_audit(spark, tables)
    files = _files(spark, tables)
    if not is_applied:
        return "\n".join([*lines, *_landed_files(files), "Nothing was changed. To do it, add: apply: true"])
    guards.check_log(spark, log)
    removal.apply(spark, request, own, log)
    return "\n".join([*lines, "Done.", *_landed_files(files), _until_vacuum(own)])


def _strays(spark: SparkSession, given: list[dict[str, str]]) -> list[Table]:
    """Other tables in the schemas of the project."""
    known = {entry["name"] for entry in given}
    found = [
        f"{schema}.{table.name}"
        for schema in sorted({name.split(".")[0] for name in known})
        # Spark's own listTables() fails as a whole where it can't decode one table.
        for table in list_tables(spark, schema)
        if not table.is_view
    ]
    tables = (removal.table_of(spark, {"name": name, "role": STRAY}) for name in found if name not in known)
    return [table for table in tables if table]


def _register(spark: SparkSession, request: Request, tables: list[Table]) -> None:
    """Views of what is meant, worked out once: what is emptied can't be asked again."""
    spark.createDataFrame([(request.value,)], "value string").createOrReplaceTempView(VALUES)
    word = _word(request.value)
    held = [table for table in tables if table.role in (LANDED, CHECKED)]
    parts = [
        f"select _row_id from {table.name} cross join {VALUES}"
        f" where {layers.has_value(table, request.column, word)}"
        for table in held
    ]
    (checked,) = (table for table in held if table.role == CHECKED)
    # What a model says in its own words, such as a name in capitals, is found by them.
    entity = [table for table in tables if table.role == ENTITY and "_row_id" in table.columns]
    parts += [
        f"select _row_id from {table.name} inner join {VALUES} on string(`{request.column}`) = value"
        for table in entity
        if request.column in table.columns
    ]
    # What a run that was killed has left half done.
    parts += [
        f"select judged._row_id from {checked.name} as judged left semi join {table.name} as landed"
        f" on judged._row_id = landed._row_id and {layers.is_marked('landed._corrupt_record')}"
        f" where not {layers.is_marked('judged.landed_value')}"
        for table in held
        if table.role == LANDED
    ]
    rows = spark.sql(f"select distinct _row_id from ({' union all '.join(parts)})").localCheckpoint()
    rows.createOrReplaceTempView(ROWS)
    keys = f"select distinct string(`{request.key_column}`) as value from {checked.name} left semi join {ROWS} using (_row_id)"
    whole = keys if request.column != request.key_column else f"select value from {VALUES}"
    spark.sql(whole).localCheckpoint().createOrReplaceTempView(KEYS)
    lost = [
        f"select distinct string(`{request.key_column}`) as value from {table.name} left semi join {ROWS} using (_row_id)"
        for table in entity
        if request.key_column in table.columns
    ]
    spark.sql(lost[0] if lost else keys).localCheckpoint().createOrReplaceTempView(GONE)


def _word(value: str) -> str | None:
    """A pattern of the value as a word of its own. None for a number, which may as well be part of a coordinate."""
    if not re.search(r"[^\W\d_]", value):
        return None
    quoted = re.sub(r"([^\w])", r"\\\1", value)
    return _sql_text(rf"(?<![\p{{L}}\p{{N}}_]){quoted}(?![\p{{L}}\p{{N}}_])")


def _sql_text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _files(spark: SparkSession, tables: list[Table]) -> list[str]:
    (checked,) = (table for table in tables if table.role == CHECKED)
    found = spark.sql(
        f"select distinct _source_file from {checked.name} left semi join {ROWS} using (_row_id)"
    )
    return sorted(row[0] for row in found.collect())


def _found(request: Request, own: list[Step], others: list[Step]) -> list[str]:
    if not own:
        lines = [f"{request.entity}: nothing is held under this {request.column}"]
    else:
        lines = [f"{request.entity}, by {request.column}:"]
        lines += [removal.told(step) for step in own]
    why = {
        FOREIGN: "of another entity stay; forget them under its own name",
        STRAY: "stay in a table that no model makes; delete them there, or drop it",
    }
    lines += [f"  {step.table.name}: {removal.rows_told(step)} {why[step.table.role]}" for step in others]
    return lines


def _landed_files(files: list[str]) -> list[str]:
    more = [f"  and {len(files) - _FILES_TOLD:,} more"] if len(files) > _FILES_TOLD else []
    told = [f"  {file}" for file in files[:_FILES_TOLD]]
    return [
        "Files as they landed still hold it. A full refresh leaves it out, a file that is delivered again lands it again:",
        *told,
        *more,
    ]


def _until_vacuum(steps: list[Step]) -> str:
    names = ", ".join(step.table.name for step in steps)
    return (
        f"Earlier versions hold it until VACUUM deletes their files (`geostrata maintain apply`, once the retention has "
        f"passed): {names}. The next dbt build computes what rests on it: gold that counts it, and older versions that count again."
    )
