"""What deltalake does not tell of a log: commits with their times, removed files, and the columns of clustering.

Read from the JSON commits that are still there and from the newest checkpoint below them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

_COMMIT = re.compile(r"_delta_log/(\d{20})\.json$")
_CHECKPOINT = re.compile(r"_delta_log/(\d{20})\.checkpoint(\.\d{10}\.\d{10})?\.parquet$")
# A commit's file that is this much younger than the commit was copied, with its table: its time says nothing.
_COPIED_MS = 600_000
# Delta's own domain for the columns of liquid clustering, and the tag of a file that was written in their order.
CLUSTERING_DOMAIN = "delta.clustering"
_CUBE_TAG = "ZCUBE_ZORDER_BY"


@dataclass(frozen=True)
class Commit:
    version: int
    timestamp_ms: int
    operation: str
    # From the last data file's end to the commit's own file: None if it added no file, or was copied since.
    latency_s: float | None


@dataclass(frozen=True)
class Tombstone:
    path: str
    size: int
    deleted_ms: int


@dataclass
class CommitLog:
    """The kept part of a log, oldest commit first."""

    commits: list[Commit] = field(default_factory=list)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)
    # Columns in whose order a file was written, by path; files of which nothing is known are absent.
    ordered_by: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Of liquid clustering, as the table names them in its files.
    clustering: tuple[str, ...] = ()
    # Files removed before this were deleted by a VACUUM that has said so in the log.
    vacuumed_until_ms: int = 0

    @property
    def dead(self) -> list[Tombstone]:
        """Removed files that, by all the log says, still lie there."""
        return [stone for stone in self.tombstones.values() if stone.deleted_ms >= self.vacuumed_until_ms]


def read(files: pyarrow.fs.FileSystem, version: int) -> CommitLog:
    """The log as it was at a version; `files` is rooted at the table."""
    listed = files.get_file_info(pyarrow.fs.FileSelector("_delta_log"))
    commits = sorted((int(match[1]), info) for info in listed if (match := _COMMIT.search(info.path)))
    checkpoints = sorted((int(match[1]), info) for info in listed if (match := _CHECKPOINT.search(info.path)))
    log = CommitLog()
    newest = max((number for number, _ in checkpoints if number <= version), default=None)
    for number, info in checkpoints:
        if number == newest:
            _read_checkpoint(log, files, info.path)
    vacuum_cutoff_ms = 0
    for number, info in commits:
        if number > version:
            break
        actions = _actions(files, info.path)
        _apply(log, actions)
        about = _about(actions)
        log.commits.append(_commit(number, info, about, actions))
        operation = about.get("operation")
        if operation == "VACUUM START":
            vacuum_cutoff_ms = _vacuum_cutoff(about)
        elif operation == "VACUUM END" and about.get("operationParameters", {}).get("status") == "COMPLETED":
            log.vacuumed_until_ms = max(log.vacuumed_until_ms, vacuum_cutoff_ms)
    return log


def _actions(files: pyarrow.fs.FileSystem, path: str) -> list[dict[str, Any]]:
    with files.open_input_file(path) as file:
        return [json.loads(line) for line in file.read().splitlines() if line.strip()]


def _about(actions: list[dict[str, Any]]) -> dict[str, Any]:
    """Who did what, when; a writer may leave it out."""
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})


def _apply(log: CommitLog, actions: list[dict[str, Any]]) -> None:
    about = _about(actions)
    order = _order(about)
    # Removed first: a deletion vector removes a file and adds the same file again, in one commit.
    for remove in (action["remove"] for action in actions if "remove" in action):
        stone = Tombstone(remove["path"], remove.get("size") or 0, remove.get("deletionTimestamp") or 0)
        log.tombstones[stone.path] = stone
    for action in actions:
        if add := action.get("add"):
            again = log.tombstones.pop(add["path"], None) is not None
            if columns := _cube_columns(add.get("tags")) or order:
                log.ordered_by[add["path"]] = columns
            elif not again:
                log.ordered_by.pop(add["path"], None)
        elif domain := action.get("domainMetadata"):
            _apply_domain(log, domain)


def _apply_domain(log: CommitLog, domain: dict[str, Any]) -> None:
    if domain["domain"] == CLUSTERING_DOMAIN:
        names = json.loads(domain.get("configuration") or "{}").get("clusteringColumns", [])
        log.clustering = () if domain.get("removed") else tuple(".".join(name) for name in names)


def _order(about: dict[str, Any]) -> tuple[str, ...]:
    """The columns of an OPTIMIZE that ordered what it wrote."""
    if about.get("operation") != "OPTIMIZE":
        return ()
    parameters = about.get("operationParameters", {})
    for name in ("zOrderBy", "clusterBy"):
        columns = json.loads(parameters.get(name) or "[]")
        if columns:
            return tuple(columns)
    # delta-rs names no columns, only that it ordered.
    strategy = about.get("operationMetrics", {}).get("plannerStrategy")
    return ("?",) if strategy == "zOrder" else ()


def _cube_columns(tags: dict[str, Any] | None) -> tuple[str, ...]:
    return tuple(json.loads(tags[_CUBE_TAG])) if tags and tags.get(_CUBE_TAG) else ()


def _commit(
    number: int, info: pyarrow.fs.FileInfo, about: dict[str, Any], actions: list[dict[str, Any]]
) -> Commit:
    written = [action["add"]["modificationTime"] for action in actions if "add" in action]
    committed_ms = info.mtime_ns // 1_000_000 if info.mtime_ns else 0
    said_ms = about.get("timestamp") or committed_ms
    latency = None
    if written and committed_ms and abs(committed_ms - said_ms) < _COPIED_MS:
        latency = max(0, committed_ms - max(written)) / 1000
    return Commit(number, said_ms, about.get("operation") or "?", latency)


def _vacuum_cutoff(about: dict[str, Any]) -> int:
    parameters = about.get("operationParameters", {})
    # Spark writes no specified retention where none was asked for; one of 0 counts.
    kept = parameters.get("specifiedRetentionMillis", parameters.get("defaultRetentionMillis"))
    return int(about["timestamp"]) - int(kept) if kept is not None else 0


def _read_checkpoint(log: CommitLog, files: pyarrow.fs.FileSystem, path: str) -> None:
    with files.open_input_file(path) as file:
        parquet = pq.ParquetFile(file)
        names = parquet.schema_arrow.names
        # Whole structs of statistics may lie beside these: only what is asked for is read.
        wanted = ["remove.path", "remove.size", "remove.deletionTimestamp", "add.path", "add.tags"]
        wanted += ["domainMetadata"] if "domainMetadata" in names else []
        table = parquet.read(columns=wanted)
    removes = table["remove"].combine_chunks()
    for remove in removes.filter(pc.is_valid(removes)).to_pylist():
        if remove["path"] is not None:
            stone = Tombstone(remove["path"], remove.get("size") or 0, remove.get("deletionTimestamp") or 0)
            log.tombstones[stone.path] = stone
    adds = table["add"].combine_chunks()
    if any(field.name == "tags" for field in adds.type):
        tagged = adds.filter(pc.is_valid(pc.struct_field(adds, "tags")))
        for add in tagged.to_pylist():
            if columns := _cube_columns(dict(add["tags"] or [])):
                log.ordered_by[add["path"]] = columns
    if "domainMetadata" in table.column_names:
        for domain in table["domainMetadata"].to_pylist():
            if domain and domain.get("domain"):
                _apply_domain(log, domain)
