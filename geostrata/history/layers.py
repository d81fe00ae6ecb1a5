"""Tables through which an entity's rows pass, and the SQL that takes rows out of each. No text here names a key: Delta keeps
the conditions of its commits in the log.

Bronze and the checked table keep the row, without what it said: the file counts as loaded, the ledger has a place for it,
and an older delivery does not come to life again. All others lose it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from geostrata.errors import GeostrataError

LANDED, CHECKED, ENTITY, AUDIT, COPY = "landed", "checked", "entity", "audit", "copy"
# Told of, not touched: tables of other entities, and those that no model makes, such as backups.
FOREIGN, STRAY = "foreign", "stray"
# Emptied last, and first what is built from the others: a run that is killed half-way finds the rest once more.
ORDER = (AUDIT, COPY, ENTITY, LANDED, CHECKED, FOREIGN, STRAY)
# Views of the session: ids of landed rows, values of the column, keys of these rows, and keys that the entity's table loses.
ROWS, VALUES, KEYS, GONE = "forgotten_rows", "forgotten_values", "forgotten_keys", "forgotten_entities"
PROVENANCE = (
    "_source_file",
    "_source_mtime",
    "_source_fingerprint",
    "_delivery",
    "_source_position",
    "_source_row",
    "_ingested_at",
    "_batch_id",
    "_row_id",
)
_RAW_TEXT = ("_corrupt_record", "_rescued")


@dataclass(frozen=True)
class Request:
    entity: str
    key_column: str
    column: str
    value: str
    reason: str

    def check(self) -> None:
        if not self.value.strip():
            raise GeostrataError(f"forget: which {self.column}? The key is empty")
        if not self.reason.strip():
            raise GeostrataError("forget: a reason is needed, such as the number of the request")
        if self.value in self.reason:
            raise GeostrataError("forget: the reason is kept, so it must not name what is to be forgotten")


@dataclass(frozen=True)
class Table:
    name: str
    role: str
    columns: tuple[str, ...] = ()


def mark(request_id: str) -> str:
    """Stands in the place of the record. macros/lifecycle/rows_to_check.sql knows it."""
    return f"forgotten by request {request_id}"


def is_marked(column: str) -> str:
    return f"coalesce({column} rlike '^forgotten by request [0-9a-f-]{{36}}$', false)"


def mark_column(table: Table) -> str:
    return "_corrupt_record" if table.role == LANDED else "landed_value"


def has_value(table: Table, column: str, word: str | None) -> str:
    """Rows of bronze or the checked table that name the value: in its column, or in the text of a record that can't be read."""
    texts = [name for name in _RAW_TEXT if name in table.columns and word]
    found = [f"string(`{column}`) = value"] if column in table.columns else ["false"]
    found += [f"coalesce(string({name}) rlike {word}, false)" for name in texts]
    return f"({' or '.join(found)}) and not {is_marked(mark_column(table))}"


def removal(table: Table, request: Request, note: str) -> str | None:
    """The statement that takes the rows out; None if nothing in the table can be told to be theirs."""
    if table.role in (LANDED, CHECKED):
        return _emptied(table, note)
    condition = matching(table, request)
    return condition and f"merge into {table.name} as target using {condition} when matched then delete"


def matching(table: Table, request: Request) -> str | None:
    """`<relation> as source on <condition>` of the rows to go."""
    by_value = f"{VALUES} as source on string(target.`{request.column}`) = source.value"
    has_value = request.column in table.columns
    if table.role == AUDIT:
        return f"{KEYS} as source on target.entity = '{request.entity}' and target.entity_key = source.value"
    if "_row_id" in table.columns and table.role != FOREIGN:
        # By the value too: a copy may be older than the ids.
        ids = f"select _row_id from {ROWS}"
        if has_value:
            ids += f" union select target._row_id from {table.name} as target inner join {by_value}"
        return f"({ids}) as source on target._row_id = source._row_id"
    if has_value:
        return by_value
    if request.key_column in table.columns and table.role in (COPY, STRAY):
        # Made of the entity's rows without what was searched for. Of a key that has an older version, the next build makes it again.
        return f"{GONE} as source on string(target.`{request.key_column}`) = source.value"
    return None


def emptied_row(columns: Iterable[str], note: str) -> dict[str, str]:
    """What stands in the columns of a landed row that was forgotten, in SQL; all others stay."""
    return {
        name: note if name == "_corrupt_record" else "null"
        for name in columns
        if name not in (*PROVENANCE, "_file_problem")
    }


def _emptied(table: Table, note: str) -> str:
    if table.role == LANDED:
        values = emptied_row(table.columns, f"'{note}'")
    else:
        values = dict.fromkeys((name for name in table.columns if name not in PROVENANCE), "null")
        values |= {
            "is_deleted": "false",
            "is_repaired": "false",
            # A file that was refused stays refused: what it replaced must not go.
            "failed_expectations": "case when array_contains(target.failed_expectations, 'file_accepted')"
            " then array('file_accepted') else array('record_readable') end",
            "warned_expectations": "cast(array() as array<string>)",
            "explanation": f"'{note}'",
            "landed_value": f"'{note}'",
        }
    changes = [f"`{name}` = {values[name]}" for name in table.columns if name in values]
    return (
        f"merge into {table.name} as target using {ROWS} as source on target._row_id = source._row_id"
        f" and not {is_marked('target.' + mark_column(table))}"
        f" when matched then update set {', '.join(changes)}"
    )
