"""Short scripts that once broke a promise: each names what it breaks. By the worlds that have the gold for it."""

from __future__ import annotations

from typing import NamedTuple

from killing import Kill
from oracle import Content, Row
from steps import (
    ON_SILVER,
    Archive,
    EditPolicy,
    EditRule,
    EditSql,
    Forget,
    Mount,
    Put,
    PutBack,
    Refresh,
    Release,
    Replace,
    Restore,
    Step,
    Trouble,
)


class Move(NamedTuple):
    step: Step
    left_out: tuple[str, ...] = ()
    kill: Kill | None = None


def _file(*rows: Row, extra: bool = False) -> Content:
    return Content(rows, extra)


_OLD = _file(Row("p", "x", 3), Row("q", "x", 5))
_NEW = _file(Row("p", "y", 5), Row("q", "x", 5))
_TWO_DAYS = _file(Row("p", "x", 3, day=1), Row("q", "x", 9, day=2))
_WIDER = _file(Row("p", "x", 3), extra=True)

DATED: dict[str, list[Move]] = {
    "a kill between ADD COLUMNS and INSERT": [
        Move(Put(0, _OLD, 0)),
        Move(EditPolicy("additive")),
        Move(Put(1, _WIDER, 1), kill=Kill(1, is_after=True)),
        Move(Step()),
    ],
    "a good version put back with its own time": [
        Move(Put(0, _OLD, 0)),
        Move(Put(0, _NEW, 1)),
        Move(PutBack(0, 2)),
        Move(Refresh(("raw", "checked"))),
    ],
    "a correction with an earlier time": [
        Move(Put(0, _OLD, 0)),
        Move(Put(0, _NEW, -1)),
        Move(Refresh(("raw",))),
    ],
    "a full refresh of bronze while the folder is away": [
        Move(Put(0, _OLD, 0)),
        Move(Mount(False)),
        Move(Refresh(("raw", "checked", "entity"))),
        Move(Mount(True)),
    ],
    "a day refused by a rule, then silver refreshed": [
        Move(Put(0, _TWO_DAYS, 0)),
        Move(EditRule(4), left_out=("checked", "entity")),
        Move(Refresh(("checked", "entity"))),
    ],
    "an input replaced by SQL": [
        Move(Put(0, _TWO_DAYS, 0)),
        Move(Replace("entity")),
        Move(Put(0, _OLD, 1)),
    ],
    "SQL of a gold model edited": [
        Move(Put(0, _TWO_DAYS, 0)),
        Move(EditSql("daily", 2)),
    ],
    "forgotten by a column that is no key": [
        Move(Put(0, _file(Row("p", "x", 3, day=1)), 0)),
        Move(Put(1, _file(Row("p", "y", 5, day=2)), 0)),
        Move(Forget("label", "y")),
    ],
    "what was forgotten of a version put back, after two full refreshes": [
        Move(Put(0, _OLD, 0)),
        Move(Put(0, _NEW, 1)),
        Move(PutBack(0, 2)),
        Move(Forget("key", "p")),
        Move(Refresh(("raw",))),
        Move(Refresh(("raw",))),
    ],
}
JUDGED: dict[str, list[Move]] = {
    "other content of the same time and size": [
        Move(Put(0, _OLD, 0)),
        Move(Put(0, _NEW, 0)),
    ],
    "a full refresh of bronze after archiving": [
        Move(Put(0, _OLD, 0)),
        Move(Archive(0)),
        Move(Refresh(("raw",))),
    ],
    "trouble that passes": [
        Move(Put(0, _OLD, 0)),
        Move(Trouble(0, is_over=False)),
        Move(Put(0, _NEW, 1)),
        Move(Trouble(0, is_over=True)),
    ],
    "a refused file released after its declaration was mended": [
        Move(EditPolicy("strict")),
        Move(Put(0, _WIDER, 0)),
        Move(EditPolicy("rescue")),
        Move(Release(is_of_files=True)),
    ],
    "content judged again under the same row ids": [
        Move(Put(0, _OLD, 0)),
        Move(EditSql("checked", 2), left_out=("checked", "entity")),
        Move(Refresh(("checked",))),
    ],
    "a rule edited": [
        Move(Put(0, _TWO_DAYS, 0)),
        Move(EditRule(4)),
        Move(EditRule(10)),
    ],
    "a row added and changed between two runs of a merge": [
        Move(Put(0, _OLD, 0)),
        Move(Put(1, _NEW, 1), left_out=ON_SILVER),
        Move(Forget("key", "p")),
    ],
    "a model's own table restored": [
        Move(Put(0, _OLD, 0)),
        Move(Put(0, _TWO_DAYS, 1)),
        Move(Restore("entity", 1)),
    ],
}
SNAPSHOTS: dict[str, list[Move]] = {
    "a snapshot put back with its own time": [
        Move(Put(0, _OLD, 0)),
        Move(Put(0, _file(Row("r", "x", 3)), 1)),
        Move(PutBack(0, 2)),
        Move(Refresh(("raw", "checked", "entity"))),
    ],
    "a snapshot without rows, and one without bytes": [
        Move(Put(0, _OLD, 0)),
        Move(Put(1, Content(None), 1)),
        Move(Put(0, Content(()), 1)),
    ],
    "a key forgotten before any file could be read": [
        Move(Put(2, Content(None, has_extra_column=True), 0)),
        Move(Forget("key", "r")),
    ],
    "a rule of a snapshot edited": [
        Move(Put(0, _OLD, 0)),
        Move(EditRule(4)),
    ],
    "a snapshot that is counted after its table was restored": [
        Move(Put(0, _OLD, 0)),
        Move(Put(0, _file(Row("r", "x", 3)), 1)),
        Move(Restore("entity", 1)),
    ],
}
