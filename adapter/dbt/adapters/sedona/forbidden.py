"""Settings that make answers wrong or give secrets away, refused wherever a person can set them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

_FAST_LISTING = "delta.enableFastS3AListFrom"
_REASONS = {
    _FAST_LISTING: "builds wrong snapshots with this version of Delta Lake",
    "spark.sql.variable.substitute": "replaces ${env:NAME} in SQL text by variables of this process",
}
# Hadoop's settings are Spark's with this before them. A longer name counts as well: spark.hadoop.fs.s3a.bucket.x.delta...
_BY_END = {name.casefold(): name for name in _REASONS}
# dbt puts a comment before each statement.
_SET = re.compile(
    rf"(?:\s|/\*.*?\*/|--[^\n]*\n)*set\s[\w.`\s]*?(?P<name>{'|'.join(map(re.escape, _REASONS))})`?\s*=(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)


def check(where: str, settings: Iterable[tuple[str, Any]]) -> None:
    """`where` names the object that holds the settings, for the message."""
    for name, value in settings:
        known = next((full for end, full in _BY_END.items() if str(name).casefold().endswith(end)), None)
        if known and str(value).strip().strip("'\"").casefold() != "false":
            raise DbtRuntimeError(f"{where}: {name} is refused: it {_REASONS[known]}. Remove it.")


def check_statement(statement: str) -> None:
    """A SET in a hook or a model."""
    if found := _SET.match(statement):
        check("set", [(found["name"], found["value"])])


def check_hadoop(spark: Any) -> None:
    """What came in by a file beside the profile: spark-defaults.conf, core-site.xml."""
    value = spark._jsc.hadoopConfiguration().get(_FAST_LISTING, "false")
    check("Spark's configuration files", [(_FAST_LISTING, value)])
