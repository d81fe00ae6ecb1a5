"""Does a repair: one commit where Delta allows it, marked with its reason, and written down in ops.repair_log."""

from __future__ import annotations

import getpass
import json
import shutil
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from geostrata.errors import GeostrataError
from geostrata.repairs import guards, history, migrating
from geostrata.repairs.difference import compare
from geostrata.repairs.engines import one_line
from geostrata.repairs.plans import Repair
from geostrata.repairs.preview import Preview
from geostrata.repairs.target import relation
from geostrata.tables import ops_tables
from geostrata.tables.state import is_table, read_state

LOG = "repair_log"
DONE, FAILED = "done", "failed"
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def apply(handle: Any, repair: Repair, preview: Preview, reason: str) -> int | None:
    """The table's version after it; None if it is gone. What failed is written down too."""
    work = _Work(handle, repair, reason)
    began = datetime.now(UTC)
    error: BaseException | None = None
    try:
        work.do()
    except (Exception, KeyboardInterrupt) as problem:
        error = problem
    finally:
        handle.spark.conf.unset(_USER_METADATA)
    after = work.version_after()
    told = None
    if error:
        told = one_line(error) if isinstance(error, Exception) else "interrupted"
        if after not in (None, repair.state.version):
            told += f" (it is at version {after} now; to go back: {repair.undo})"
    _record(repair, preview, work, began, after, told)
    if isinstance(error, Exception):
        raise GeostrataError(f"{repair.target.name}: {repair.kind} failed: {told}") from error
    if error:
        raise error
    return after


class _Work:
    def __init__(self, handle: Any, repair: Repair, reason: str) -> None:
        self._handle, self._repair = handle, repair
        self.id, self.reason = str(uuid.uuid4()), reason

    def do(self) -> None:
        repair = self._repair
        if repair.kind != "clone":
            self._check_unchanged()
        self._mark(repair.notes)
        if repair.kind == "migrate":
            migrating.migrate(self._handle, repair, self._check_unchanged)
            self._check_content()
        elif repair.kind == "clone":
            self._clone()
        else:
            self._run(*repair.statements)
            if repair.kind == "drop":
                self._remove_folder()
            else:
                self._check_order()

    def version_after(self) -> int | None:
        if not is_table(Path(self._repair.target.path)):
            return None
        ours = self._commits()
        return ours[-1].number if ours else read_state(self._repair.target.path).version

    def _run(self, *statements: str) -> None:
        for statement in statements:
            self._handle.execute(statement)
            self._handle.fetchall()

    def _mark(self, notes: dict[str, Any]) -> None:
        """Every commit of this session says why it was made. Notes of dbt's inputs stand beside it, where dbt finds them."""
        note = history.repair_note(self.id, self._repair.kind, self.reason) | notes
        self._handle.spark.conf.set(_USER_METADATA, json.dumps(note))

    def _commits(self) -> list[history.Version]:
        return history.of_repair(history.versions(self._repair.target.path), self.id)

    def _check_unchanged(self) -> None:
        target = self._repair.target
        guards.check_unchanged(target, self._repair.state.version, read_state(target.path).version)

    def _clone(self) -> None:
        made = str(self._repair.made)
        try:
            self._run(*self._repair.statements)
            found = compare(self._handle.spark, self._repair.before, f"select * from {relation(made)}", ())
            if not found.is_empty:
                raise GeostrataError(f"the copy is not equal: {found.counts}")
            if self._repair.naming:
                self._run(self._repair.naming)
        except BaseException:
            # Half a backup must not be taken for one.
            shutil.rmtree(made, ignore_errors=True)
            raise

    def _remove_folder(self) -> None:
        """A table that the catalog did not own, or did not know, leaves its folder behind."""
        path = Path(self._repair.target.path)
        shutil.rmtree(path, ignore_errors=True)
        if is_table(path):
            raise GeostrataError("its folder could not be deleted")

    def _check_order(self) -> None:
        """A commit that came between the last look and ours was shown to nobody, and a restore takes it away."""
        commits = self._commits()
        if commits and commits[-1].number != self._repair.state.version + 1:
            self._take_back(commits[-1].number, "another writer committed in the same moment")

    def _check_content(self) -> None:
        """Commits of a migration leave all rows as the version before has them, whoever committed in between."""
        target = self._repair.target
        for version in self._commits():
            # Others write no files.
            if version.operation in ("WRITE", "OPTIMIZE"):
                before, after = (f"select * from {target.at(version.number - back)}" for back in (1, 0))
                found = compare(self._handle.spark, before, after, ())
                if not found.is_empty:
                    self._take_back(version.number, f"the rows are not the same: {found.counts}")

    def _take_back(self, number: int, why: str) -> NoReturn:
        path, before = self._repair.target.path, number - 1
        if read_state(path).version != number:
            raise GeostrataError(
                f"{why}, and again since: version {number} is ours. Look at it and at version {before}, which it changed"
            )
        self._mark(history.inputs_as_of(history.versions(path), before))
        self._run(f"restore table {self._repair.target.at()} to version as of {before}")
        taken_back = self._commits()[-1].number
        if taken_back != number + 1:
            raise GeostrataError(
                f"{why}, and again while version {number} was taken back: version {taken_back} is without what versions "
                f"{number + 1} to {taken_back - 1} wrote. Look at them, then restore or replace their rows"
            )
        raise GeostrataError(f"{why}. The table is as in version {before}; look again, then apply")


def _record(
    repair: Repair, preview: Preview, work: _Work, began: datetime, after: int | None, error: str | None
) -> None:
    found = preview.found
    statements = [*repair.statements, *([repair.naming] if repair.naming else [])]
    row = {
        "repair_id": work.id,
        "relation_name": repair.target.name,
        "table_path": repair.target.path,
        "action_kind": repair.kind,
        "title": repair.title,
        "sql_text": ";\n".join(statements) or None,
        "reason": work.reason,
        "user_name": _user(),
        "status": FAILED if error else DONE,
        "error": error,
        "undo_command": None if error else repair.undo,
        "rows_removed": found.rows_removed,
        "rows_added": found.rows_added,
        "keys_removed": found.keys_removed,
        "keys_added": found.keys_added,
        "keys_changed": found.keys_changed,
        "version_before": repair.state.version,
        "version_after": after,
        "started_at": began,
        "ended_at": datetime.now(UTC),
    }
    try:
        ops_tables.append(LOG, [row])
    except GeostrataError as problem:
        outcome = f"failed ({error})" if error else f"is done ({repair.undo} takes it back)"
        raise GeostrataError(
            f"{repair.target.name}: {repair.kind} {outcome}, but that could not be written down: {problem}"
        ) from problem


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return None
