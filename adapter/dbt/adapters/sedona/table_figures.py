"""What a Delta table's newest version is made of, without a Spark job.

Delta keeps a sum beside every commit: bytes, files, their sizes, schema, properties. Only where another writer left none is
the table's state computed, by a job.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dbt.adapters.sedona import relations

Action = dict[str, Any]
# Py4J's buffer holds 8192 characters, quoting included.
_PIECE = 4000


@dataclass(frozen=True)
class Size:
    """A number of files of about one size: `at_most` is the largest that one of them can be."""

    at_most: int
    files: int
    bytes: int


@dataclass(frozen=True)
class TableFigures:
    version: int
    files: int
    bytes: int
    sizes: tuple[Size, ...]
    partition_columns: tuple[str, ...]
    # How many there are: one, if the table is not partitioned.
    partitions: int
    # Liquid clustering: its columns, and whether the table ever had any, which forbids ZORDER for good.
    clustering: tuple[str, ...]
    is_liquid: bool
    properties: dict[str, str]
    # The schema as Delta writes it, in JSON.
    schema: str

    def smaller_than(self, limit: int) -> Size:
        """Files that are surely smaller."""
        small = [size for size in self.sizes if size.at_most < limit]
        return Size(limit, sum(size.files for size in small), sum(size.bytes for size in small))


class TableState:
    """A Delta table as it was when this was made."""

    def __init__(self, spark: Any, name: str) -> None:
        self._spark = spark
        self._jvm = spark._jvm
        self._snapshot = relations.snapshot(spark, name)

    def figures(self) -> TableFigures:
        kept = self._snapshot.checksumOpt()
        found = self._parsed(kept.get()) if kept.isDefined() else self._computed()
        return of_sum(int(self._snapshot.version()), found, lambda: _partitions(self._all_files()))

    def commits_backwards(self) -> Iterator[tuple[int, list[Action]]]:
        """Version and actions of each commit, from the newest back to the oldest that the log still holds."""
        path = self._jvm.org.apache.hadoop.fs.Path
        folder = self._snapshot.deltaLog().logPath()
        files = folder.getFileSystem(self._spark._jsparkSession.sessionState().newHadoopConf())
        for version in range(int(self._snapshot.version()), -1, -1):
            file = path(folder, f"{version:020d}.json")
            if not files.exists(file):
                return
            writer = self._jvm.java.io.StringWriter()
            stream = files.open(file)
            try:
                self._jvm.org.apache.commons.io.IOUtils.copy(stream, writer, "UTF-8")
            finally:
                stream.close()
            yield version, [json.loads(line) for line in _text(writer).splitlines() if line]

    def _parsed(self, value: Any) -> dict[str, Any]:
        """One of Delta's own objects, as Delta writes it to the log."""
        writer = self._jvm.java.io.StringWriter()
        self._jvm.org.apache.spark.sql.delta.util.JsonUtils.mapper().writeValue(writer, value)
        found: dict[str, Any] = json.loads(_text(writer))
        return found

    def _computed(self) -> dict[str, Any]:
        """The same facts where no sum was kept, as after a write by delta-rs. This runs a job."""
        files = self._all_files()
        domains = self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(self._snapshot.domainMetadata())
        return {
            "numFiles": len(files),
            "tableSizeBytes": sum(file["size"] for file in files),
            "allFiles": files,
            "metadata": self._parsed(self._snapshot.metadata()),
            "protocol": self._parsed(self._snapshot.protocol()),
            "domainMetadata": [self._parsed(domain) for domain in domains],
        }

    def _all_files(self) -> list[Action]:
        from pyspark.sql import DataFrame

        files = DataFrame(self._snapshot.allFiles().toDF(), self._spark).select("size", "partitionValues")
        return [{"size": row["size"], "partitionValues": row["partitionValues"]} for row in files.collect()]


def _text(writer: Any) -> str:
    """Of a Java writer. Longer texts come over in pieces: a reply that does not fit Py4J's buffer waits 40 ms for the network's
    acknowledgement, which one of a megabyte does not notice."""
    buffer = writer.getBuffer()
    length = buffer.length()
    if length > _PIECE * 50:
        return str(buffer.toString())
    return "".join(buffer.substring(at, min(at + _PIECE, length)) for at in range(0, length, _PIECE))


def of_sum(version: int, found: dict[str, Any], count_partitions: Callable[[], int]) -> TableFigures:
    """From Delta's sum of a version, as its JSON has it."""
    metadata = found["metadata"]
    columns = tuple(metadata.get("partitionColumns") or ())
    files = found.get("allFiles")
    domains = {domain["domain"]: domain["configuration"] for domain in found.get("domainMetadata") or []}
    clustering = json.loads(domains.get("delta.clustering") or "{}").get("clusteringColumns", [])
    partitions = 1
    if columns:
        partitions = _partitions(files) if files is not None else count_partitions()
    return TableFigures(
        version=version,
        files=int(found["numFiles"]),
        bytes=int(found["tableSizeBytes"]),
        sizes=_sizes(files, found.get("fileSizeHistogram")),
        partition_columns=columns,
        partitions=partitions,
        clustering=tuple(".".join(parts) for parts in clustering),
        is_liquid="clustering" in (found["protocol"].get("writerFeatures") or ()),
        properties=dict(metadata.get("configuration") or {}),
        schema=metadata["schemaString"],
    )


def _sizes(files: list[Action] | None, histogram: dict[str, Any] | None) -> tuple[Size, ...]:
    """Delta lists the files themselves as long as they are few, and else counts them by size."""
    if files is not None:
        return tuple(Size(file["size"], 1, file["size"]) for file in files)
    if histogram is None:
        return ()
    bounds = histogram["sortedBinBoundaries"]
    ends = [bound - 1 for bound in bounds[1:]] + [2**63]
    bins = zip(ends, histogram["fileCounts"], histogram["totalBytes"], strict=True)
    return tuple(Size(end, count, size) for end, count, size in bins if count)


def _partitions(files: list[Action]) -> int:
    return len({json.dumps(file["partitionValues"], sort_keys=True) for file in files})
