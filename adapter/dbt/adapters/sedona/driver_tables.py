"""Small parts of local Delta tables, read and replaced on the driver by delta-rs, without a Spark job.

To replace a few rows of a Delta table takes Spark eight jobs and most of a second, however few they are, and the smallest read a tenth
of one. Where the table lies on this machine's disk and the part fits into memory, delta-rs needs hundredths. What it might understand in
another way than Spark, or not at all, is Spark's: then these functions return none or False, and nothing has happened.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.sedona import plain_conditions, relations

from dbt_sedona_text import identifier

logger = AdapterLogger("Sedona")

# Of rows that are held on the driver, as Arrow.
MOST_BYTES = 32 << 20
# What delta-rs calls the table in a query: no column has such a name.
_PART = "__part__"
_BY_PATH = re.compile(r"delta\.`([^`]+)`")
_NAME = re.compile(r"[\w.`]+")
_NOTE = "spark.databricks.delta.commitInfo.userMetadata"
_WRITER, _NUMBER = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
# Above this, a writer has more to do than to keep constraints: generated columns, change feeds, row ids.
_WRITER_VERSION = 3


@dataclass(frozen=True)
class DriverTable:
    """A table that delta-rs reads as Spark does."""

    table: Any

    @classmethod
    def open(cls, spark: Any, name: str) -> DriverTable | None:
        """By its name, or as delta.`path`. None of what is no such table, such as a view or a statement in brackets."""
        path = _local_path(spark, name)
        return cls.at(path) if path else None

    @classmethod
    def at(cls, path: str) -> DriverTable | None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            table = DeltaTable(path)
        except (DeltaError, OSError):
            return None
        # Later versions hide rows or rename columns.
        return cls(table) if table.protocol().min_reader_version == 1 else None

    @cached_property
    def schema(self) -> Any:
        """As Delta and Spark write it in JSON."""
        return json.loads(self.table.schema().to_json())

    @cached_property
    def names(self) -> list[str]:
        return [field["name"] for field in self.schema["fields"]]

    @cached_property
    def spark_schema(self) -> Any:
        from pyspark.sql.types import StructType

        return StructType.fromJson(self.schema)

    def is_plain(self, condition: str) -> bool:
        return plain_conditions.is_plain(condition, plain_conditions.types_of(self.schema))

    def rows(self, columns: list[str], condition: str) -> pa.Table | None:
        """The rows that meet a plain condition; none if they are more than the driver should hold."""
        from deltalake import QueryBuilder

        asked = ", ".join('"{}"'.format(name.replace('"', '""')) for name in columns)
        try:
            found = (
                QueryBuilder()
                .register(_PART, self.table)
                .execute(f"select {asked} from {_PART} where {condition}")
            )
            return self._held(found, columns)
        except Exception as error:  # whatever it is, Spark reads the same
            _leave_to_spark("read", self.table, error)
            return None

    def changes(self, column: str, first: int, last: int) -> pa.Table | None:
        """One column of all rows that were added, changed or removed from one version to another."""
        try:
            found = self.table.load_cdf(starting_version=first, ending_version=last, columns=[column])
            return self._held(found, [column])
        except Exception as error:  # as above
            _leave_to_spark("read the changes of", self.table, error)
            return None

    def _held(self, stream: Any, columns: list[str]) -> pa.Table | None:
        """In Arrow's plain types, as Spark has them."""
        from pyspark.sql.pandas.types import to_arrow_schema

        types = dict(zip(self.names, to_arrow_schema(self.spark_schema), strict=True))
        schema = pa.schema([types[name] for name in columns])
        batches, size = [], 0
        for batch in pa.RecordBatchReader.from_stream(stream):
            plain = batch.select(columns).cast(schema)
            size += plain.nbytes
            if size > MOST_BYTES:
                return None
            batches.append(plain)
        return pa.Table.from_batches(batches, schema)

    @property
    def may_be_replaced(self) -> bool:
        protocol, metadata = self.table.protocol(), self.table.metadata()
        properties = metadata.configuration
        return (
            protocol.min_writer_version <= _WRITER_VERSION
            and not metadata.partition_columns
            and "true"
            not in (properties.get("delta.appendOnly"), properties.get("delta.enableChangeDataFeed"))
            # Lengths of text, defaults and the like.
            and all(field["metadata"].keys() <= {"comment"} for field in self.schema["fields"])
        )

    def replace(self, spark: Any, rows: pa.Table, predicate: str) -> None:
        from deltalake import CommitProperties, Transaction, write_deltalake

        note = spark.conf.get(_NOTE, None)
        writer, number = spark.conf.get(_WRITER, None), spark.conf.get(_NUMBER, None)
        if writer and number and (self.table.transaction_version(writer) or -1) >= int(number):
            return  # another run has written what this one planned: as Spark would, it is left at that
        sizes = pa.table(self.table.get_add_actions())["size_bytes"].to_pylist()
        write_deltalake(
            self.table,
            rows,
            mode="overwrite",
            predicate=predicate,
            # What is written anew is cut as the table's files are.
            target_file_size=max(sizes, default=None),
            writer_properties=_writer_properties(spark),
            # As Spark writes it: by the first the next run knows what this one has read, by the second which commit it is.
            commit_properties=CommitProperties(
                custom_metadata={**({"userMetadata": note} if note else {}), "txnId": str(uuid.uuid4())},
                app_transactions=[Transaction(writer, int(number))] if writer and number else None,
            ),
        )


def replace_rows(spark: Any, target: str, source: str, predicate: str) -> bool:
    """Puts the rows of a view in the place of those that meet a predicate, in one commit, if the driver has them already."""
    table = DriverTable.open(spark, target)
    if table is None or not table.may_be_replaced or not table.is_plain(predicate):
        return False
    frame = spark.table(source)
    if not set(table.names) <= set(frame.columns):
        return False
    frame = frame.select(*(identifier(name) for name in table.names))
    if _types(json.loads(frame.schema.json())) != _types(table.schema) or not _is_at_hand(frame):
        return False
    try:
        table.replace(spark, frame.toArrow(), predicate)
    except Exception as error:  # whatever it is, Spark does the same, or says what is wrong with the rows
        _leave_to_spark("replace rows of", table.table, error)
        return False
    return True


def _local_path(spark: Any, name: str) -> str | None:
    if not spark.sparkContext.master.startswith("local"):
        return None
    location = match[1] if (match := _BY_PATH.fullmatch(name)) else _location(spark, name)
    return location.removeprefix("file:") if location.startswith(("/", "file:/")) else None


def _location(spark: Any, name: str) -> str:
    if not _NAME.fullmatch(name):
        return ""
    try:
        return relations.location(spark, name)
    except Exception:  # a temporary view, or no table at all: Spark will tell
        return ""


def _is_at_hand(frame: Any) -> bool:
    """True if Spark needs no table and no other process for it."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    leaves = plan.collectLeaves()
    kinds: Iterable[str] = (
        leaves.apply(number).getClass().getSimpleName() for number in range(leaves.size())
    )
    return set(kinds) == {"LocalRelation"} and int(str(plan.stats().sizeInBytes())) <= MOST_BYTES


def _types(schema: Any) -> Any:
    """Names and types, without what says whether there may be nulls and what comments there are."""
    if isinstance(schema, dict):
        told = ("nullable", "containsNull", "valueContainsNull", "metadata")
        return {key: _types(value) for key, value in schema.items() if key not in told}
    return [_types(value) for value in schema] if isinstance(schema, list) else schema


def _writer_properties(spark: Any) -> Any:
    """Files as Spark writes them in this session."""
    from deltalake import WriterProperties

    rows = spark.conf.get("parquet.page.row.count.limit", None)
    codec = spark.conf.get("spark.sql.parquet.compression.codec")
    return WriterProperties(compression=codec.upper(), data_page_row_count_limit=int(rows) if rows else None)


def _leave_to_spark(what: str, table: Any, error: Exception) -> None:
    logger.debug(f"delta-rs could not {what} {table.table_uri}, so Spark does: {str(error).splitlines()[0]}")
