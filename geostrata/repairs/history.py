"""A table's commits: which version is meant, and what it says of the inputs that it was built from."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.fs

from geostrata.errors import GeostrataError
from geostrata.tables.state import TableState, files_of, read_state

# Where dbt's incremental models note which version of each input their rows come from (docs/decisions/0005).
_INPUTS, _TRANSACTIONS = "dbt_inputs", "dbt_input_transactions"
_SOURCE = "geostrata_copied_from"
_REPAIR = "geostrata_repair"
_COMMIT = re.compile(r"_delta_log/(\d{20})\.json$")
# Commits that leave all rows as they are: there is nothing in them to undo.
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
    "FSCK",
)


@dataclass(frozen=True)
class Version:
    number: int
    at: datetime
    operation: str
    note: str | None = None

    @property
    def keeps_rows(self) -> bool:
        return self.operation.startswith(_KEEPS_ROWS)

    @property
    def repair_id(self) -> str | None:
        """Of the repair that made it; one repair may be several commits."""
        found = _note(self).get(_REPAIR)
        return found.get("id") if isinstance(found, dict) else None

    def __str__(self) -> str:
        return f"version {self.number} ({self.operation}, {self.at:%Y-%m-%d %H:%M:%S} UTC)"


def versions(uri: str) -> list[Version]:
    """Those that the log still holds, oldest first. Read from its files: deltalake can't tell the history of a table that
    began as a clone, whose first commit has read version -1."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        files = files_of(DeltaTable(uri), uri)
        listed = files.get_file_info(pyarrow.fs.FileSelector("_delta_log"))
        commits = sorted(
            (int(match[1]), info.path) for info in listed if (match := _COMMIT.search(info.path))
        )
        return [_version(number, _about(files, path)) for number, path in commits]
    except (DeltaError, OSError, ValueError) as error:
        raise GeostrataError(f"{uri}: its history can't be read: {str(error).splitlines()[0]}") from error


def _about(files: pyarrow.fs.FileSystem, path: str) -> dict[str, Any]:
    """Who did what; a writer may leave it out."""
    with files.open_input_file(path) as file:
        for line in file.read().splitlines():
            if line.startswith(b'{"commitInfo"'):
                found: dict[str, Any] = json.loads(line)["commitInfo"]
                return found
    return {}


def _version(number: int, about: dict[str, Any]) -> Version:
    at = datetime.fromtimestamp((about.get("timestamp") or 0) / 1000, UTC)
    return Version(number, at, str(about.get("operation") or "?"), about.get("userMetadata"))


def numbered(known: Sequence[Version], number: int, table: str) -> Version:
    for version in known:
        if version.number == number:
            return version
    first, last = known[0].number, known[-1].number
    raise GeostrataError(f"{table}: there is no version {number}; its log holds {first} to {last}")


def at_time(known: Sequence[Version], text: str, table: str) -> Version:
    """The newest version that was there at that time; UTC unless the time names a zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise GeostrataError(f"--to-time: '{text}' is no time; write it as 2026-03-01T12:00:00") from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    found = [version for version in known if version.at <= moment]
    if not found:
        raise GeostrataError(f"{table}: its log does not reach back to {text}; it begins with {known[0]}")
    return found[-1]


def before_last_change(known: Sequence[Version], table: str) -> tuple[Version, Version]:
    """The last commit that changed rows, or the last repair as a whole, and the version before it."""
    for place in range(len(known) - 1, -1, -1):
        last = known[place]
        if last.keeps_rows and last.repair_id is None:
            continue
        while place > 0 and last.repair_id and known[place - 1].repair_id == last.repair_id:
            place -= 1
        if known[place].number == 0:
            raise GeostrataError(
                f"{table}: its last change is the first one, which made it; to remove it: "
                f"geostrata repair drop {shlex.quote(table)}"
            )
        if place == 0:
            break
        return last, known[place - 1]
    raise GeostrataError(f"{table}: its log does not reach back to before its last change")


def of_repair(known: Sequence[Version], repair_id: str) -> list[Version]:
    return [version for version in known if version.repair_id == repair_id]


def repair_note(repair_id: str, kind: str, reason: str) -> dict[str, Any]:
    return {_REPAIR: {"id": repair_id, "kind": kind, "reason": reason}}


def inputs_as_of(known: Sequence[Version], number: int) -> dict[str, Any]:
    """What the rows of a version were built from, to be noted again with them: the next `dbt run` then goes on from there.

    Otherwise it would go on from the note of the newest load, and what that load brought would never be read again.
    """
    for version in reversed(known):
        note = _note(version)
        if _INPUTS in note and version.number <= number:
            return {name: note[name] for name in (_INPUTS, _TRANSACTIONS) if name in note}
    # Loads came after it, and what was loaded before is not known: better to read all again than to miss a row.
    return {_INPUTS: {}} if any(_INPUTS in _note(version) for version in known) else {}


@dataclass(frozen=True)
class Source:
    """Of a backup: the table and the version that it was copied from."""

    name: str
    path: str
    version: int


def source_note(name: str, path: str, version: int) -> dict[str, Any]:
    return {_SOURCE: {"name": name, "path": path, "version": version}}


def copied_from(known: Sequence[Version]) -> Source | None:
    found = [note[_SOURCE] for note in map(_note, known) if _SOURCE in note]
    return Source(found[-1]["name"], found[-1]["path"], int(found[-1]["version"])) if found else None


def _note(version: Version) -> dict[str, Any]:
    try:
        note = json.loads(version.note or "null")
    except ValueError:  # somebody else's note
        return {}
    return note if isinstance(note, dict) else {}


def whole_state(uri: str, version: int, known: Sequence[Version], table: str) -> TableState:
    """A version of which every file is still there."""
    state = read_state(uri, version)
    lost = missing_files(state)
    if not lost:
        return state
    kept = [found.number for found in known if found.number > version and not _has_lost_files(uri, found)]
    way_out = f"the oldest that is whole is version {kept[0]}" if kept else "no older one is whole"
    if all(map(is_own, lost)):
        how = f"VACUUM has deleted {len(lost):,} of its {len(state.files):,} files"
    else:
        how = "it was copied from a table that is gone"
    raise GeostrataError(
        f"{table}: version {version} can't be read any more: {how}; {way_out}. A backup (`geostrata repair clone`) is not touched by VACUUM"
    )


def _has_lost_files(uri: str, version: Version) -> bool:
    return bool(missing_files(read_state(uri, version.number)))


def missing_files(state: TableState) -> list[str]:
    """On a local disk; elsewhere Delta itself looks before it restores."""
    root = Path(state.uri)
    if not root.is_dir():
        return []
    return [path for path in state.files.paths if not _exists(root, path)]


def _exists(root: Path, path: str) -> bool:
    if not is_own(path):
        place = path.removeprefix("file:")
        # In another storage: not ours to ask.
        return not place.startswith("/") or Path(unquote(place)).exists()
    return (root / path).exists() or (root / unquote(path)).exists()


def is_own(path: str) -> bool:
    """In the table's own folder: a shallow clone names the files of another table, in full."""
    return not path.startswith("/") and ":/" not in path
