"""How much of a table was written since it was last put in order, read from its newest commits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

Action = dict[str, Any]
# Whatever lay in the table before such a commit is gone.
_REPLACING = ("CREATE OR REPLACE", "REPLACE TABLE", "CREATE TABLE")
# Each takes some milliseconds to read, and small files show long before by their number.
_COMMITS_READ = 200


@dataclass(frozen=True)
class Unordered:
    """Bytes of files that no OPTIMIZE has put in the declared order yet."""

    bytes: int
    # The columns of another order in which the table lies.
    other_order: tuple[str, ...] = ()
    # The same bytes by partition: its values, in JSON.
    by_partition: dict[str, int] = field(default_factory=dict, compare=False)


def unordered(
    commits: Iterable[tuple[int, list[Action]]], order: tuple[str, ...], table_bytes: int
) -> Unordered:
    """`commits` from the newest backwards, no further than is needed. What they no longer tell counts as ordered: a table is not
    rewritten on a guess."""
    seen: dict[str, int] = {}
    # Files that a newer commit has removed, or has counted already.
    settled: set[str] = set()
    for version, actions in islice(commits, _COMMITS_READ):
        info = _commit_info(actions)
        operation = str(info.get("operation") or "")
        by = _ordered_by(info) if operation == "OPTIMIZE" else ()
        if by and by != order:
            return Unordered(table_bytes, by)
        if by and not _parameter(info, "predicate"):
            break
        adds = {add["path"]: add for add in _each(actions, "add")}
        # An OPTIMIZE of some partitions has put those in order, and says nothing of the others.
        for add in adds.values() if not by else ():
            if add["path"] not in settled:
                partition = json.dumps(add.get("partitionValues") or {}, sort_keys=True)
                seen[partition] = seen.get(partition, 0) + add["size"]
        if version == 0 or operation.startswith(_REPLACING):
            break
        settled |= adds.keys() | {remove["path"] for remove in _each(actions, "remove")}
    return Unordered(sum(seen.values()), by_partition=seen)


def _commit_info(actions: list[Action]) -> dict[str, Any]:
    return next(_each(actions, "commitInfo"), {})


def _ordered_by(info: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_parameter(info, "zOrderBy") or _parameter(info, "clusterBy") or ())


def _parameter(info: dict[str, Any], name: str) -> Any:
    """Delta writes lists as text."""
    given = (info.get("operationParameters") or {}).get(name)
    return json.loads(given) if isinstance(given, str) and given.startswith("[") else given


def _each(actions: list[Action], kind: str) -> Iterator[dict[str, Any]]:
    return (action[kind] for action in actions if kind in action)
