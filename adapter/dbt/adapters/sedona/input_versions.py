"""Which version of each input a Delta table was last built from.

The note travels in the commit that writes the data (Delta's `userMetadata`), so that a run that dies leaves neither or
both. The next run reads it back and asks only for what has changed since.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from dbt.adapters.sedona.delta_log import Commit, TableLog

_VERSIONS = "dbt_inputs"
_TRANSACTIONS = "dbt_input_transactions"
_SETTING = "spark.databricks.delta.commitInfo.userMetadata"
# Maintenance and other writers commit too: the note is looked for this many commits back, then the model reads all.
_COMMITS_SEARCHED = 50


@dataclass(frozen=True)
class Noted:
    """An input as the table's newest note has it."""

    version: int
    transaction: str | None


class InputVersions(threading.local):
    """Of the model that this thread is at."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._clear()

    def _clear(self) -> None:
        self._read: dict[str, Commit] = {}
        self._changed: dict[str, bool] = {}
        self._noted: dict[str, dict[str, Noted]] = {}
        self.replace_predicate: str | None = None

    def enter(self, model: str | None) -> None:
        """What a model that failed to compile, or was only compiled, left behind is not the next one's."""
        if model != self._model:
            self._clear()
            self._model = model

    def read(self, adapter: Any, target: Any, relation: Any) -> dict[str, Any]:
        name = relation.render()
        if name not in self._read:
            self._read[name] = _newest_commits(adapter, name, 1)[0]
        present = self._read[name]
        noted = self._inputs_noted(adapter, target).get(name)
        if noted is not None and _is_another_table(adapter, name, noted, present):
            noted = None
        self._changed[name] = noted is None or noted.version < present.version
        return {
            "last": noted.version if noted else None,
            "version": present.version,
            "has_changed": self._changed[name],
        }

    def note_change(self, name: str, has_changed: bool) -> None:
        """For an input that is no Delta table, such as a folder of files: the caller knows whether it has changed."""
        self._changed[name] = has_changed

    def nothing_new(self) -> bool:
        return bool(self._changed) and not any(self._changed.values())

    def apply(self, adapter: Any) -> None:
        if self._read:
            note = {
                _VERSIONS: {name: commit.version for name, commit in self._read.items()},
                _TRANSACTIONS: {name: commit.transaction for name, commit in self._read.items()},
            }
            adapter.execute(f"set {_SETTING} = {json.dumps(note)}")

    def forget(self, adapter: Any) -> None:
        if self._read:
            adapter.execute(f"reset {_SETTING}")
        self._clear()

    def _inputs_noted(self, adapter: Any, target: Any) -> dict[str, Noted]:
        if target is None:
            return {}
        name = target.render()
        if name not in self._noted:
            self._noted[name] = _newest_note(adapter, name)
        return self._noted[name]


def _newest_note(adapter: Any, name: str) -> dict[str, Noted]:
    log = adapter.table_log(name)
    commits = log.newest(_COMMITS_SEARCHED) if log else _newest_commits(adapter, name, _COMMITS_SEARCHED)
    for commit in commits:
        try:
            note = json.loads(commit.note or "null")
        except ValueError:  # somebody else's note
            continue
        if isinstance(note, dict) and _VERSIONS in note:
            transactions = note.get(_TRANSACTIONS, {})
            return {
                str(name): Noted(int(version), transactions.get(name))
                for name, version in note[_VERSIONS].items()
            }
    return {}


def _is_another_table(adapter: Any, name: str, noted: Noted, present: Commit) -> bool:
    """True if the input was replaced, or dropped and made again, since: what it holds has no past in common with what was
    read."""
    if noted.version > present.version:
        return True
    log: TableLog | None = adapter.table_log(name)
    if log is None:
        return False
    later = (log.commit(version) for version in log.versions if version > noted.version)
    if any(
        (commit.operation or "").startswith(("CREATE OR REPLACE", "REPLACE", "RESTORE")) for commit in later
    ):
        return True
    # Without the commit's file, or with a note from another connection method, there is nothing to compare.
    if noted.transaction is None or noted.version not in log.versions:
        return False
    return log.commit(noted.version).transaction != noted.transaction


def _newest_commits(adapter: Any, name: str, limit: int) -> list[Commit]:
    log: TableLog | None = adapter.table_log(name)
    if log is not None:
        return list(log.newest(limit))
    _, history = adapter.execute(f"describe history {name} limit {limit}", fetch=True)
    return [Commit(int(row["version"]), row["userMetadata"], row["operation"], None) for row in history.rows]
