"""Table properties as code: what must be set and unset so that a table has what the project declares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from geostrata.layout.delta_names import is_reconciled

# What the project has declared of this table, each name with a mark of its value: so that what is no longer declared can be
# unset, and what somebody else set is left alone.
REMEMBERED = "geostrata.declared"


@dataclass(frozen=True)
class Changes:
    set: dict[str, str]
    unset: list[str]
    # What differs from what the project had set: somebody changed it by hand.
    drift: list[str]


def remembered(declared: Mapping[str, str]) -> str:
    marks = {name: _mark(value) for name, value in sorted(declared.items()) if is_reconciled(name)}
    return json.dumps(marks, separators=(",", ":"))


def changes(declared: Mapping[str, str], present: Mapping[str, str]) -> Changes:
    kept = {name: value for name, value in declared.items() if is_reconciled(name)}
    marks = _parsed(present.get(REMEMBERED))
    wanted = {**kept, REMEMBERED: remembered(kept)}
    drift, unset = [], []
    for name, mark in marks.items():
        is_ours = name in present and _mark(present[name]) == mark
        if name in kept and not is_ours and present.get(name) != kept[name]:
            found = f"was {_short(present[name])}" if name in present else "was gone"
            drift.append(f"{name} {found} by another hand, set back to {_short(kept[name])}")
        elif name not in kept and is_ours:
            unset.append(name)
        elif name not in kept and name in present:
            drift.append(
                f"{name} is {_short(present[name])} by another hand and no longer declared, left as it is"
            )
    differing = {name: value for name, value in wanted.items() if present.get(name) != value}
    return Changes(differing, unset, drift)


def _short(value: str) -> str:
    return value if len(value) <= 60 else f"{value[:57]}..."


def _mark(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:8]


def _parsed(text: str | None) -> dict[str, str]:
    try:
        found = json.loads(text or "{}")
    except ValueError:  # written over by hand: nothing is known to be ours
        return {}
    return found if isinstance(found, dict) else {}
