"""Deletes what is older than its table is allowed to keep (`retain_days`). Dry unless it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from geostrata.errors import GeostrataError
from geostrata.history import guards, layers, removal
from geostrata.history.layers import CHECKED, ENTITY, FOREIGN, LANDED, ROWS, Request, Table
from geostrata.history.removal import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Rule:
    """Of one model: its table, how long and by which time its rows are kept, and the tables of its entity, if it is one."""

    model: str
    table: str
    role: str
    days: Any
    column: Any
    entity: str | None
    tables: list[dict[str, str]]

    def check(self, columns: tuple[str, ...]) -> None:
        if isinstance(self.days, bool) or not isinstance(self.days, int) or self.days < 1:
            raise GeostrataError(
                f"{self.model}: retain_days must be a number of days, at least 1, got {self.days!r}"
            )
        if self.role == FOREIGN:
            raise GeostrataError(
                f"{self.model}: landed and checked rows go with their entity, so that each stays accounted for. Set "
                f"retain_days on the entity's model"
            )
        if self.column not in columns:
            raise GeostrataError(
                f"{self.model}: retain_days needs retain_by, the column with the time of a row; got {self.column!r}, there "
                f"are {', '.join(columns)}"
            )


def run(spark: SparkSession, rules: list[Rule], log: str, is_applied: bool) -> str:
    if not rules:
        return "No model has retain_days in its meta: nothing expires"
    lines = []
    for rule in rules:
        if not spark.catalog.tableExists(rule.table):
            lines.append(f"{rule.model}: there is no table yet")
            continue
        rule.check(tuple(spark.table(rule.table).columns))
        lines += _expire(spark, rule, log, is_applied)
    if not is_applied:
        lines.append("Nothing was changed. To do it, add: apply: true")
    return "\n".join(lines)


def _expire(spark: SparkSession, rule: Rule, log: str, is_applied: bool) -> list[str]:
    before = datetime.now(UTC) - timedelta(days=rule.days)
    steps = _entity_steps(spark, rule, before) if rule.entity else _plain_steps(spark, rule, before)
    told = f"{rule.model}, rows of before {before:%Y-%m-%d %H:%M} UTC ({rule.days} days, by {rule.column})"
    if not steps:
        return [f"{told}: none"]
    if is_applied:
        guards.check_log(spark, log)
        request = Request(rule.entity or rule.model, "", "", "", f"kept for {rule.days} days")
        removal.apply(spark, request, steps, log)
    return [f"{told}:", *(removal.told(step) for step in steps)]


def _plain_steps(spark: SparkSession, rule: Rule, before: datetime) -> list[Step]:
    table = Table(rule.table, ENTITY, tuple(spark.table(rule.table).columns))
    condition = f"`{rule.column}` < {_literal(before)}"
    rows = spark.sql(f"select 1 from {table.name} where {condition}").count()
    return [Step(table, rows, f"delete from {table.name} where {condition}")] if rows else []


def _entity_steps(spark: SparkSession, rule: Rule, before: datetime) -> list[Step]:
    """A row whose time can't be read is as old as its landing."""
    tables = [table for entry in rule.tables if (table := removal.table_of(spark, entry))]
    (checked,) = (table for table in tables if table.role == CHECKED)
    spark.sql(
        f"select _row_id from {checked.name} where coalesce(`{rule.column}`, _ingested_at) < {_literal(before)}"
        f" and not {layers.is_marked('landed_value')}"
    ).localCheckpoint().createOrReplaceTempView(ROWS)
    request = Request(str(rule.entity), "", "", "", "")
    own = [table for table in tables if table.role in (ENTITY, LANDED, CHECKED)]
    guards.check_judged(spark, own)
    return removal.steps_of(spark, own, request)


def _literal(moment: datetime) -> str:
    return f"timestamp '{moment:%Y-%m-%d %H:%M:%S}+00:00'"
