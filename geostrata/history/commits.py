"""What commits say of themselves, for the audit of changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

# Of a commit that takes rows away for good (`forget`): the audit must not keep what they were.
FORGET = "geostrata_forget"
_REPAIR = "geostrata_repair"


@dataclass(frozen=True)
class Author:
    """Who made a commit, as far as its note tells."""

    user: str | None = None
    # The dbt run, or the id of the repair.
    run: str | None = None
    reason: str | None = None
    is_forgetting: bool = False


def author_of(note: str | None) -> Author:
    try:
        found = json.loads(note or "null")
    except ValueError:  # somebody else's note
        return Author()
    if not isinstance(found, dict):
        return Author()
    repair = found.get(_REPAIR)
    if isinstance(repair, dict):
        return Author(run=_text(repair.get("id")), reason=_text(repair.get("reason")))
    return Author(_text(found.get("dbt_user")), _text(found.get("dbt_run")), None, FORGET in found)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
