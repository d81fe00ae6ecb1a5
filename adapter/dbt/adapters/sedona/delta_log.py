"""Reads a table's newest commits straight from its log: `describe history` would run a Spark job each time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_COMMIT_FILE = re.compile(r"(\d{20})\.json")
# Commits that leave a table's rows as they are.
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
class Commit:
    version: int
    # What its writer left in Delta's `userMetadata`.
    note: str | None
    # What its writer did: WRITE, MERGE, CREATE OR REPLACE TABLE AS SELECT, ...
    operation: str | None
    # Delta's own identity of a commit: a table that was dropped and made again has others.
    transaction: str | None
    # What Delta says of how it was done: the mode of a WRITE, the version of a RESTORE.
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def keeps_rows(self) -> bool:
        return (self.operation or "").startswith(_KEEPS_ROWS)

    @property
    def only_appends(self) -> bool:
        return (
            self.operation in ("WRITE", "STREAMING UPDATE")
            and self.parameters.get("mode", "Append") == "Append"
        )

    @property
    def replaces_all(self) -> bool:
        """True if the rows after it have no past in common with those before."""
        return (self.operation or "").startswith(("CREATE OR REPLACE", "REPLACE", "RESTORE", "CLONE"))

    @property
    def is_restore(self) -> bool:
        return (self.operation or "").startswith("RESTORE")

    @property
    def restored_version(self) -> int | None:
        """Which version a RESTORE brought back; none if it was named by a time."""
        version = str(self.parameters.get("version"))
        return int(version) if version.isdigit() else None


class TableLog:
    """The log of one table, as it was when this was made."""

    def __init__(self, spark: Any, name: str) -> None:
        self._jvm = spark._jvm
        state = spark._jsparkSession.sessionState()
        table = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name))
        # From the URI itself: its text writes a blank as %20.
        path = self._jvm.org.apache.hadoop.fs.Path
        self._folder = path(path(table.location()), "_delta_log")
        self._files = self._folder.getFileSystem(state.newHadoopConf())
        names = (status.getPath().getName() for status in self._files.listStatus(self._folder))
        self.versions = sorted(int(match[1]) for file in names if (match := _COMMIT_FILE.fullmatch(file)))

    def newest(self, limit: int) -> Iterator[Commit]:
        for version in reversed(self.versions[-limit:]):
            yield self.commit(version)

    def commit(self, version: int) -> Commit:
        info = self._commit_info(version)
        return Commit(
            version,
            info.get("userMetadata"),
            info.get("operation"),
            info.get("txnId"),
            info.get("operationParameters") or {},
        )

    def _commit_info(self, version: int) -> dict[str, Any]:
        """Spark writes it as the first line, other writers as any."""
        path = self._jvm.org.apache.hadoop.fs.Path(self._folder, f"{version:020d}.json")
        stream = self._files.open(path)
        reader = self._jvm.java.io.BufferedReader(self._jvm.java.io.InputStreamReader(stream, "UTF-8"))
        try:
            while (line := reader.readLine()) is not None:
                if '"commitInfo"' in line[:40]:
                    return json.loads(line)["commitInfo"]
        finally:
            reader.close()
        return {}
