"""Which version of each input a Delta table was last built from.

The note travels in the commit that writes the data (Delta's `userMetadata`), so that a run that dies leaves neither or
both. The next run reads it back and asks only for what has changed since.
"""

from __future__ import annotations

import json
import threading
from typing import Any

_KEY = "dbt_inputs"
_SETTING = "spark.databricks.delta.commitInfo.userMetadata"
# Maintenance and other writers commit too: the note is looked for this many commits back, then the model reads all.
_COMMITS_SEARCHED = 50


class InputVersions(threading.local):
    """Of the model that this thread is at."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._read: dict[str, int] = {}
        self._changed: dict[str, bool] = {}
        self._last: dict[str, dict[str, int]] = {}
        self.replace_predicate: str | None = None

    def read(self, adapter: Any, target: Any, relation: Any) -> dict[str, Any]:
        name = relation.render()
        if name not in self._read:
            self._read[name] = _present_version(adapter, name)
        last = self._last_inputs(adapter, target).get(name)
        self._changed[name] = last is None or last < self._read[name]
        return {"last": last, "version": self._read[name], "has_changed": self._changed[name]}

    def nothing_new(self) -> bool:
        return bool(self._changed) and not any(self._changed.values())

    def apply(self, adapter: Any) -> None:
        if self._read:
            adapter.execute(f"set {_SETTING} = {json.dumps({_KEY: self._read})}")

    def forget(self, adapter: Any) -> None:
        if self._read:
            adapter.execute(f"reset {_SETTING}")
        self._clear()

    def _last_inputs(self, adapter: Any, target: Any) -> dict[str, int]:
        if target is None:
            return {}
        name = target.render()
        if name not in self._last:
            self._last[name] = _noted_inputs(adapter, name)
        return self._last[name]


def _present_version(adapter: Any, name: str) -> int:
    _, history = adapter.execute(f"describe history {name} limit 1", fetch=True)
    return int(history.rows[0]["version"])


def _noted_inputs(adapter: Any, name: str) -> dict[str, int]:
    _, history = adapter.execute(f"describe history {name} limit {_COMMITS_SEARCHED}", fetch=True)
    for commit in history.rows:
        try:
            noted = json.loads(commit["userMetadata"] or "null")
        except ValueError:  # somebody else's note
            continue
        if isinstance(noted, dict) and _KEY in noted:
            return {str(key): int(version) for key, version in noted[_KEY].items()}
    return {}
