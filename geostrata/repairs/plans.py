"""What each kind of repair would do: which rows are compared, and which statements would run. No Spark yet."""

from __future__ import annotations

import dataclasses
import re
import shlex
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from geostrata.errors import GeostrataError
from geostrata.repairs import guards, history
from geostrata.repairs.target import Target, find, relation
from geostrata.tables.project import path_of
from geostrata.tables.state import TableState, is_table, read_state

_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Repair:
    kind: str
    target: Target
    state: TableState
    # What would be done, in words.
    title: str
    # Rows as they are, and as they would be; None where none would be.
    before: str
    after: str | None
    statements: tuple[str, ...] = ()
    # The command that takes it back.
    undo: str = ""
    # Rows in whose files something changes; all if it is None.
    where: str | None = None
    # What the commit says besides its reason: above all what dbt noted of the inputs of these rows.
    notes: dict[str, Any] = field(default_factory=dict)
    # Of the source of a replacement: rows that do not meet the condition, and must not be there.
    outside: str | None = None
    leaves_outside: bool = False
    # Both sides must hold the same.
    must_be_equal: bool = False
    # The folder that is made: of a copy, or beside the table while it is migrated.
    made: str | None = None
    # Makes a copy known to SQL by name, once it is whole.
    naming: str | None = None
    # The version that comes back.
    then: TableState | None = None
    # Of an undo: the commit that is taken back.
    undoes: int | None = None
    partition_by: tuple[str, ...] | None = None
    cluster_by: tuple[str, ...] | None = None

    @property
    def needs_catalog(self) -> bool:
        """Tables come and go in the metastore; rows are changed by path."""
        return self.kind in ("clone", "drop") and self.target.is_in_catalog


def restore(target: Target, to_version: int | None, to_time: str | None) -> Repair:
    known = history.versions(target.path)
    if to_version is not None:
        wanted = history.numbered(known, to_version, target.name)
    else:
        wanted = history.at_time(known, str(to_time), target.name)
    return _back_to(target, "restore", wanted.number, f"restore {wanted}", known)


def undo(target: Target, version: int | None = None) -> Repair:
    """Of the last commit that changed rows. `version` is the one that was looked at: another that came since is not undone in its place."""
    known = history.versions(target.path)
    last, before = history.before_last_change(known, target.name)
    if version is not None and history.numbered(known, version, target.name).number != last.number:
        raise GeostrataError(
            f"{target.name}: version {version} is not its last change: that is {last}, which would be taken back as well. "
            f"Undo that one first, or put single rows back with `geostrata repair replace {shlex.quote(target.name)} --from version:N`"
        )
    title = f"undo {last}: back to version {before.number}"
    return dataclasses.replace(_back_to(target, "undo", before.number, title, known), undoes=last.number)


def _back_to(target: Target, kind: str, number: int, title: str, known: list[history.Version]) -> Repair:
    state = read_state(target.path)
    guards.check(kind, target, state)
    then = history.whole_state(target.path, number, known, target.name)
    return Repair(
        kind,
        target,
        state,
        title,
        before=f"select * from {target.at(state.version)}",
        after=f"select * from {target.at(number)}",
        statements=(f"restore table {target.at()} to version as of {number}",),
        undo=_back(target, state),
        notes=history.inputs_as_of(known, number),
        then=then,
    )


def delete(target: Target, where: str) -> Repair:
    state = read_state(target.path)
    guards.check("delete", target, state)
    return Repair(
        "delete",
        target,
        state,
        f"delete rows where {where}",
        before=_rows(target.at(state.version), where),
        after=None,
        statements=(f"delete from {target.at()} as found where ({where})",),
        undo=_back(target, state),
        where=where,
    )


def replace(target: Target, where: str, source: str, only_matching: bool) -> Repair:
    state = read_state(target.path)
    guards.check("replace", target, state)
    from_itself = re.fullmatch(r"version:(\d+)", source)
    if from_itself:
        known = history.versions(target.path)
        number = history.numbered(known, int(from_itself[1]), target.name).number
        other = history.whole_state(target.path, number, known, target.name)
        name, rows = f"version {number}", target.at(number)
    else:
        giver = find(source)
        other = read_state(giver.path)
        name, rows = giver.name, giver.at(other.version)
    columns = _same_columns(target, state, name, other)
    taken = _rows(rows, where, columns)
    return Repair(
        "replace",
        target,
        state,
        f"replace rows where {where} by those of {name}",
        before=_rows(target.at(state.version), where),
        after=taken,
        statements=(f"insert into {target.at()} replace where ({where}) {taken}",),
        undo=_back(target, state),
        where=where,
        # A version of the table itself holds other rows by its nature.
        outside=None if from_itself else _rows(rows, f"not coalesce(({where}), false)"),
        leaves_outside=only_matching,
    )


def _rows(table: str, where: str, columns: str = "*") -> str:
    """With an alias: Spark would take `where (is_late)` for one, of a table with the one column is_late."""
    return f"select {columns} from {table} as found where ({where})"


def _same_columns(target: Target, state: TableState, name: str, other: TableState) -> str:
    ours, theirs = _top_columns(state), _top_columns(other)
    missing = [column for column in ours if column not in theirs]
    more = [column for column in theirs if column not in ours]
    if missing or more:
        told = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(more)} besides"
        raise GeostrataError(
            f"{name} {told}, so that its rows are none of {target.name}: build a table with the same columns and name "
            f"that as --from"
        )
    return ", ".join(f"`{column}`" for column in ours)


def _top_columns(state: TableState) -> list[str]:
    return list(dict.fromkeys(name.split(".")[0] for name in state.columns))


def clone(target: Target, name: str | None, version: int | None = None) -> Repair:
    known = history.versions(target.path)
    number = history.numbered(known, version, target.name).number if version is not None else known[-1].number
    state = history.whole_state(target.path, number, known, target.name)
    made_name, made_path = _beside(target, name or f"{_last_part(target)}_version_{number}")
    if Path(made_path).exists():
        raise GeostrataError(f"{made_name} is there already; choose another name with --as")
    made = relation(made_path)
    # Its files are written once more, which an append-only table would not allow.
    is_append_only = guards.is_append_only(state)
    opened = " tblproperties ('delta.appendOnly' = 'false')" if is_append_only else ""
    closed = (
        (f"alter table {made} set tblproperties ('delta.appendOnly' = 'true')",) if is_append_only else ()
    )
    return Repair(
        "clone",
        target,
        state,
        f"copy version {number} to {made_name}",
        before=f"select * from {target.at(number)}",
        after=f"select * from {target.at(number)}",
        statements=(
            # By path: by name Delta 4.4 puts a clone into another folder where the warehouse has a blank in its path (%20).
            f"create table {made} shallow clone {target.at(number)}{opened}",
            # A shallow clone lives on the files of its source, which VACUUM deletes: the copy gets files of its own.
            f"insert overwrite {made} select * from {made}",
            *closed,
        ),
        undo=f"geostrata repair drop {shlex.quote(made_name)} --confirm {shlex.quote(Path(made_name).name)}",
        notes=history.inputs_as_of(known, number) | history.source_note(target.name, target.path, number),
        made=made_path,
        naming=f"create table {made_name} using delta location {_text(made_path)}"
        if target.is_in_catalog
        else None,
    )


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def drop(target: Target, confirm: str | None) -> Repair:
    state = read_state(target.path)
    guards.check("drop", target, state)
    asked = _last_part(target) if not target.is_in_catalog else target.name
    if confirm not in (asked, _last_part(target)):
        told = f"'{confirm}' is not its name" if confirm else "its name must be repeated"
        raise GeostrataError(f"{target.name}: {told}; to drop it: --confirm {shlex.quote(asked)}")
    copy_name, copy = _copy(target, state)
    return Repair(
        "drop",
        target,
        state,
        f"drop {target.name}; {copy_name} holds the same rows",
        before=f"select * from {target.at(state.version)}",
        after=f"select * from {copy}",
        statements=(f"drop table if exists {target.name}",) if target.is_in_catalog else (),
        undo=f"geostrata repair clone {shlex.quote(copy_name)} --as {shlex.quote(target.name)}",
        must_be_equal=True,
    )


def _copy(target: Target, state: TableState) -> tuple[str, str]:
    """Another table with files of its own that should hold the same: a backup, or what this is a backup of."""
    backups = [
        found for path in Path(target.path).parent.iterdir() if (found := _backup(target, state, path))
    ]
    if backups:
        _, name, copy = max(backups)
        return name, copy
    source = history.copied_from(history.versions(target.path))
    if source and is_table(Path(source.path)):
        known = history.versions(source.path)
        if any(found.number == source.version for found in known):
            history.whole_state(source.path, source.version, known, source.name)
            return source.name, relation(source.path, source.version)
    raise GeostrataError(
        f"{target.name}: version {state.version} is the only copy of its rows. Make a backup first: "
        f"geostrata repair clone {shlex.quote(target.name)} --apply --reason '...'"
    )


def _backup(target: Target, state: TableState, path: Path) -> tuple[datetime, str, str] | None:
    """When the copy of this table was made that lies there, if one does; what it is called, and how it is read."""
    if not is_table(path) or path.resolve() == Path(target.path):
        return None
    known = history.versions(str(path))
    source = history.copied_from(known)
    is_named_so = path.name == f"{_last_part(target)}_version_{state.version}"
    if not is_named_so and not (source and source.path == target.path):
        return None
    backup = read_state(path)
    if not all(history.is_own(file) for file in backup.files.paths) or history.missing_files(backup):
        return None
    name, _ = _beside(target, path.name)
    return known[0].at, name, relation(str(path), backup.version)


def migrate(target: Target, partition_by: str | None, cluster_by: str | None) -> Repair:
    state = read_state(target.path)
    columns = _names(partition_by if partition_by is not None else cluster_by)
    allowed = _top_columns(state) if partition_by is not None else list(state.columns)
    unknown = [column for column in columns if column not in allowed]
    if unknown:
        raise GeostrataError(
            f"{target.name} has no column {unknown[0]} to go by; it has {', '.join(allowed)}"
        )
    is_rewritten = partition_by is not None or bool(state.partition_columns)
    if is_rewritten:
        guards.check("migrate", target, state)
    same = state.partition_columns if partition_by is not None else state.log.clustering
    if columns == same and (partition_by is not None or not state.partition_columns):
        raise GeostrataError(f"{target.name} is laid out by {', '.join(columns) or 'nothing'} already")
    if partition_by is not None and state.log.clustering:
        raise GeostrataError(
            f"{target.name} is clustered by {', '.join(state.log.clustering)}, and Delta keeps clustered tables "
            f"unpartitioned: take that away first, `alter table ... cluster by none`"
        )
    if partition_by is None and columns:
        guards.check_clustering(target, state, columns)
    verb = "partition" if partition_by is not None else "cluster"
    rows = f"select * from {target.at(state.version)}"
    return Repair(
        "migrate",
        target,
        state,
        f"{verb} by {', '.join(columns) or 'nothing'}; the rows stay as they are",
        before=rows,
        after=rows,
        undo=_back(target, state),
        partition_by=(columns if partition_by is not None else ()) if is_rewritten else None,
        cluster_by=columns if partition_by is None else None,
        made=f"{target.path}_migrating",
    )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _back(target: Target, state: TableState) -> str:
    return f"geostrata repair restore {shlex.quote(target.name)} --to-version {state.version}"


def _last_part(target: Target) -> str:
    return target.name.split(".", 1)[1] if target.is_in_catalog else Path(target.path).name


def _beside(target: Target, name: str) -> tuple[str, str]:
    """A table in the same schema or folder, unless it says where: what to call it, and where it lies."""
    if target.is_in_catalog:
        schema, _, last = name.rpartition(".")
        schema = schema or target.table.layer
        if not (_NAME.fullmatch(schema) and _NAME.fullmatch(last)):
            raise GeostrataError(
                f"{name}: a table of the project is called by a name or schema.name of letters, digits and _"
            )
        return f"{schema}.{last}", str(path_of(schema, last).resolve())
    path = name if "/" in name else str(Path(target.path).parent / name)
    return path, str(Path(path).resolve())
