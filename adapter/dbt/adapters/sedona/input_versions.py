"""Which version of each input a Delta table was last built from.

The note travels in the commit that writes the data (Delta's `userMetadata`), so that a run that dies leaves neither or
both. The next run reads it back and asks only for what has changed since.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import threading
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.sedona.delta_log import Commit, TableLog
from dbt_common.invocation import get_invocation_id

_VERSIONS = "dbt_inputs"
_TRANSACTIONS = "dbt_input_transactions"
_DIGESTS = "dbt_input_digests"
_SETTING = "spark.databricks.delta.commitInfo.userMetadata"
# Maintenance and other writers commit too: the note is looked for this many commits back, then the model reads all.
_COMMITS_SEARCHED = 50
# Commits that leave a table's rows as they are: a digest noted before them still tells what the table holds.
_KEEPS_ROWS = (
    "OPTIMIZE",
    "VACUUM",
    "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES",
    "ADD CONSTRAINT",
    "DROP CONSTRAINT",
    "CLUSTER BY",
    "CHANGE COLUMN",
    "UPGRADE PROTOCOL",
    "REORG",
)


@dataclass(frozen=True)
class Noted:
    """An input table as the newest note has it."""

    version: int
    transaction: str | None


@dataclass(frozen=True)
class Note:
    """What a commit says of the inputs that it was made from: tables, and digests of what is no table."""

    tables: dict[str, Noted] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)


class InputVersions(threading.local):
    """Of the model that this thread is at."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._clear()

    def _clear(self) -> None:
        self._read: dict[str, Commit] = {}
        self._changed: dict[str, bool] = {}
        self._digests: dict[str, str] = {}
        self._noted: dict[str, Note] = {}
        self.replace_predicate: str | None = None
        self.strategy: str | None = None

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
        noted = self._note_of(adapter, target).tables.get(name)
        if noted is not None and _is_another_table(adapter, name, noted, present):
            noted = None
        self._changed[name] = noted is None or noted.version < present.version
        return {
            "last": noted.version if noted else None,
            "version": present.version,
            "has_changed": self._changed[name],
        }

    def is_as_noted(self, adapter: Any, target: Any, name: str, content: Any) -> bool:
        """For an input that is no table, such as the listing of a folder: True if it is what it was when the rows were
        written that the table holds."""
        self._digests[name] = digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return self._note_of(adapter, target).digests.get(name) == digest

    def forget_noted(self, name: str) -> None:
        self._digests.pop(name, None)

    def note_change(self, name: str, has_changed: bool) -> None:
        """For an input that is no Delta table, such as a folder of files: the caller knows whether it has changed."""
        self._changed[name] = has_changed

    def nothing_new(self) -> bool:
        return bool(self._changed) and not any(self._changed.values())

    def apply(self, adapter: Any) -> None:
        if self._read or self._digests:
            note = {
                _VERSIONS: {name: commit.version for name, commit in self._read.items()},
                _TRANSACTIONS: {name: commit.transaction for name, commit in self._read.items()},
                _DIGESTS: self._digests,
                # For whoever asks a commit where its rows come from.
                "dbt_run": get_invocation_id(),
                "dbt_user": _user(),
            }
            adapter.execute(f"set {_SETTING} = {json.dumps(note)}")

    def forget(self, adapter: Any) -> None:
        if self._read or self._digests:
            adapter.execute(f"reset {_SETTING}")
        self._clear()

    def _note_of(self, adapter: Any, target: Any) -> Note:
        if target is None:
            return Note()
        name = target.render()
        if name not in self._noted:
            self._noted[name] = _newest_note(adapter, name)
        return self._noted[name]


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return None


def _newest_note(adapter: Any, name: str) -> Note:
    holds_what_it_noted = True
    for commit in _newest_commits(adapter, name, _COMMITS_SEARCHED):
        if (note := _parsed(commit.note)) is not None:
            transactions = note.get(_TRANSACTIONS, {})
            tables = {
                str(name): Noted(int(version), transactions.get(name))
                for name, version in note[_VERSIONS].items()
            }
            return Note(tables, note.get(_DIGESTS, {}) if holds_what_it_noted else {})
        holds_what_it_noted &= (commit.operation or "").startswith(_KEEPS_ROWS)
    return Note()


def _parsed(text: str | None) -> dict[str, Any] | None:
    try:
        note = json.loads(text or "null")
    except ValueError:  # somebody else's note
        return None
    return note if isinstance(note, dict) and _VERSIONS in note else None


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
