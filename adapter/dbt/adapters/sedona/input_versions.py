"""Which version of each input a Delta table was last built from, and by which code.

The note travels in the commit that writes the rows (Delta's `userMetadata`) and in no other, so that a run that dies leaves neither or
both. The next run reads it back and asks only for what has changed since.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.sedona.delta_log import Commit, TableLog
from dbt_common.invocation import get_invocation_id

logger = AdapterLogger("Sedona")

_VERSIONS = "dbt_inputs"
_TRANSACTIONS = "dbt_input_transactions"
_DIGESTS = "dbt_input_digests"
_CODE = "dbt_code"
_NOTE_SETTING = "spark.databricks.delta.commitInfo.userMetadata"
# Delta skips a write of this name whose number it has seen already, and aborts one that meets another of the same name.
_WRITER_SETTING = "spark.databricks.delta.write.txnAppId"
_NUMBER_SETTING = "spark.databricks.delta.write.txnVersion"
_WRITER = "dbt"
# Maintenance and other writers commit too: the note is looked for this many commits back.
_COMMITS_SEARCHED = 50


@dataclass(frozen=True)
class Noted:
    """An input table as the newest note has it."""

    version: int
    transaction: str | None


@dataclass(frozen=True)
class Note:
    """What a commit says of what it was made from: tables, digests of what is no table, and the model's code."""

    tables: dict[str, Noted] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    code: str | None = None
    # The table's version when the note was read: what this run plans is right for that version only.
    at_version: int | None = None
    is_found: bool = False


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
        self._code: str | None = None
        self._target: str | None = None
        self._is_armed = False
        self._must_rebuild: dict[str, bool] = {}
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

    def only_appends(self, adapter: Any, name: str, first: int, last: int) -> bool:
        """True if the change feed of these versions is what they add up to: nothing in it is taken back by a later commit."""
        log: TableLog | None = adapter.table_log(name)
        if log is None:
            return False
        versions = [version for version in log.versions if first <= version <= last]
        changing = [commit for version in versions if not (commit := log.commit(version)).keeps_rows]
        return len(changing) <= 1 or all(commit.only_appends for commit in changing)

    def is_as_noted(self, adapter: Any, target: Any, name: str, content: Any) -> bool:
        """For an input that is no table, such as the listing of a folder: True if it is what it was when the rows were
        written that the table holds."""
        self._digests[name] = digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return self._note_of(adapter, target).digests.get(name) == digest

    def forget_noted(self, name: str) -> None:
        self._digests.pop(name, None)

    def noted_value(self, adapter: Any, target: Any, name: str) -> str | None:
        return self._note_of(adapter, target).digests.get(name)

    def note_value(self, name: str, value: Any) -> None:
        """Kept as long as nobody else writes rows to the table."""
        self._digests[name] = str(value)

    def note_change(self, name: str, has_changed: bool) -> None:
        """For an input that is no Delta table, such as a folder of files: the caller knows whether it has changed."""
        self._changed[name] = has_changed

    def nothing_new(self) -> bool:
        return bool(self._changed) and not any(self._changed.values())

    def decision(self, target: Any) -> bool | None:
        return self._must_rebuild.get(target.render())

    def must_rebuild(self, adapter: Any, target: Any, code: str | None, can_rebuild: bool) -> bool:
        """True if what the target holds can't be brought up to date in parts. `code` is none for a model that never asks what is new.

        A table that can't be computed again keeps its older rows: it only says so."""
        name = target.render()
        self._code = code
        note = self._note_of(adapter, target)
        reason = _why_rebuild(adapter, note, code) if code else None
        self._must_rebuild[name] = reason is not None and can_rebuild
        if self._must_rebuild[name]:
            self._target = None
            logger.info(f"{name}: computed whole, since {reason}")
        elif code and note.code not in (None, code):
            logger.warning(
                f"{name}: its SQL, config, macros or variables have changed. New rows follow them, older rows do not. "
                "Run it with --full-refresh to apply them to all rows."
            )
        return self._must_rebuild[name]

    def use_code(self, code: str | None) -> None:
        """By which code all rows are made."""
        self._code = code

    def arm(self) -> None:
        """The next statement writes the model's rows: its commit carries the note."""
        self._is_armed = True

    @contextmanager
    def in_commit(self, adapter: Any) -> Iterator[None]:
        """Around a statement. Settings of the session are read when Delta commits."""
        if not self._is_armed or not (self._read or self._digests or self._code):
            self._is_armed = False
            yield
            return
        self._is_armed = False
        settings = {_NOTE_SETTING: self._note()}
        at_version = self._noted[self._target].at_version if self._target else None
        if at_version is not None:
            settings |= {_WRITER_SETTING: _WRITER, _NUMBER_SETTING: str(at_version + 1)}
        with adapter.commit_settings(settings):
            yield

    def _note(self) -> str:
        return json.dumps(
            {
                _VERSIONS: {name: commit.version for name, commit in self._read.items()},
                _TRANSACTIONS: {name: commit.transaction for name, commit in self._read.items()},
                _DIGESTS: self._digests,
                _CODE: self._code,
                # For whoever asks a commit where its rows come from.
                "dbt_run": get_invocation_id(),
                "dbt_user": _user(),
            }
        )

    def leave(self) -> None:
        self._clear()

    def _note_of(self, adapter: Any, target: Any) -> Note:
        if target is None:
            return Note()
        name = target.render()
        if name not in self._noted:
            self._noted[name] = _newest_note(adapter, name)
        self._target = name
        return self._noted[name]


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return None


def _newest_note(adapter: Any, name: str) -> Note:
    """The note on the rows that the table holds now: what a RESTORE took away is passed over."""
    holds_what_it_noted = True
    newest = restored = None
    for commit in _newest_commits(adapter, name, _COMMITS_SEARCHED):
        newest = commit.version if newest is None else newest
        if restored is not None and commit.version > restored:
            continue
        if commit.is_restore:
            if (restored := commit.restored_version) is None:
                break
            continue
        if (note := _parsed(commit.note)) is not None:
            transactions = note.get(_TRANSACTIONS, {})
            tables = {
                str(name): Noted(int(version), transactions.get(name))
                for name, version in note[_VERSIONS].items()
            }
            digests = note.get(_DIGESTS, {}) if holds_what_it_noted else {}
            return Note(tables, digests, note.get(_CODE), newest, is_found=True)
        holds_what_it_noted &= commit.keeps_rows
    return Note(at_version=newest)


def _why_rebuild(adapter: Any, note: Note, code: str) -> str | None:
    if not note.is_found:
        return "the note of its last run is gone"
    if note.code is not None and note.code != code:
        return "its SQL, config, macros or variables have changed"
    for name, noted in note.tables.items():
        if (present := _present(adapter, name)) is None or _is_another_table(adapter, name, noted, present):
            return f"{name} was dropped, replaced or restored"
    return None


def _present(adapter: Any, name: str) -> Commit | None:
    try:
        return _newest_commits(adapter, name, 1)[0]
    except Exception:  # it is not there: if the model still reads it, that read says so
        return None


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
    if any(log.commit(version).replaces_all for version in log.versions if version > noted.version):
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
    return [
        Commit(int(row["version"]), row["userMetadata"], row["operation"], None, _parameters(row))
        for row in history.rows
    ]


def _parameters(row: Any) -> dict[str, Any]:
    """A server's answer holds the map as text or not at all."""
    try:
        found = json.loads(row["operationParameters"])
    except (KeyError, TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
