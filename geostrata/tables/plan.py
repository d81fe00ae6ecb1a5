"""What maintenance would do, and why: from the logs alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from geostrata.tables import file_size
from geostrata.tables.health import by_partition, clustered, small_files
from geostrata.tables.policy import Policy, Settings
from geostrata.tables.policy_checks import SHORTEST_RETENTION, retention_of
from geostrata.tables.project import ProjectTable
from geostrata.tables.state import TableState
from geostrata.tables.units import Window, days
from geostrata.text_table import size

# Partitions named in one statement; a table that needs more gets several.
_PARTITIONS_A_STATEMENT = 100
COMPACT, ZORDER, CLUSTER, VACUUM = "compact", "zorder", "cluster", "vacuum"


@dataclass(frozen=True)
class Action:
    """One statement on one table."""

    table: ProjectTable
    kind: str
    statement: str
    reason: str
    # What is there now, of what the statement looks at, and what should be there after it.
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    # What it costs: bytes that are read and written again.
    bytes_rewritten: int
    # Highest first: files that queries are spared, in files of the target size.
    need: float
    target_file_size: int
    window: Window | None = None
    # Why files are deleted before a week has gone by.
    override: str | None = None


def plan_table(
    table: ProjectTable, state: TableState, policy: Policy, now: datetime | None = None
) -> list[Action]:
    chosen = policy.settings_for(table)
    work = _Work(table, state, chosen, now or datetime.now(UTC))
    return [*work.compaction(), *work.vacuum()]


def ordered(actions: list[Action]) -> list[Action]:
    """Most needed first; deleting comes last, since queries gain nothing by it."""
    return sorted(actions, key=lambda action: (action.kind == VACUUM, -action.need, action.table.name))


@dataclass(frozen=True)
class _Work:
    table: ProjectTable
    state: TableState
    settings: Settings
    now: datetime

    def compaction(self) -> Iterator[Action]:
        files = self.state.files
        if not self.table.is_kept or len(files) < 2:
            return
        small = self._mergeable()
        adrift = self._adrift()
        reasons = []
        if self._is_enough(
            small, small.sum(), len(files), self.settings.small_files, self.settings.small_share
        ):
            reasons.append(f"{small.sum():,} small files of {len(files):,}")
        adrift_bytes = int(files.sizes[adrift].sum())
        if adrift_bytes and self._needs_order(adrift_bytes):
            reasons.append(f"{size(adrift_bytes)} of {size(self.state.bytes)} out of order")
        if reasons:
            # Ordered tables are merged in their order: both kinds of files are in the same statement.
            touched = small | adrift if self._order_kind() else small
            yield from self._statements(touched, small, adrift, "; ".join(reasons))

    @staticmethod
    def _is_enough(found: npt.NDArray[np.bool_], count: int, whole: int, least: int, share: float) -> bool:
        return bool(found.any()) and count >= least and count >= share * whole

    def _needs_order(self, adrift_bytes: int) -> bool:
        return (
            adrift_bytes >= self.settings.unclustered_bytes
            and adrift_bytes >= self.settings.unclustered_share * self.state.bytes
        )

    def _order_kind(self) -> str | None:
        if self.state.log.clustering:
            return CLUSTER
        return ZORDER if self.table.layout and self.table.layout.get("zorder") else None

    @property
    def target(self) -> int:
        layout = dict(self.table.layout or {})
        if self.settings.target_file_size is not None:
            layout.setdefault("target_file_size", self.settings.target_file_size)
        return file_size.target_size(layout, self.state.properties, self.state.bytes)

    def _mergeable(self) -> npt.NDArray[np.bool_]:
        """Small files in partitions where merging them leaves fewer."""
        files = self.state.files
        small = small_files(files, self.target)
        for members in by_partition(files).values():
            inside = members[small[members]]
            if len(inside) <= math.ceil(files.sizes[inside].sum() / self.target):
                small[inside] = False
        return small

    def _adrift(self) -> npt.NDArray[np.bool_]:
        """Files outside the order that the table should have; none if it should have none."""
        if self._order_kind() is None:
            return np.zeros(len(self.state.files), bool)
        found = clustered(self.table, self.state)
        return np.zeros(len(self.state.files), bool) if found is None else ~found

    def _statements(
        self,
        touched: npt.NDArray[np.bool_],
        small: npt.NDArray[np.bool_],
        adrift: npt.NDArray[np.bool_],
        reason: str,
    ) -> Iterator[Action]:
        groups = by_partition(self.state.files)
        chosen = [(values, members) for values, members in groups.items() if touched[members].any()]
        for start in range(0, len(chosen), _PARTITIONS_A_STATEMENT):
            part = chosen[start : start + _PARTITIONS_A_STATEMENT]
            partial = len(part) < len(groups)
            where = self._where([values for values, _ in part]) if partial else ""
            told = f"{reason}; in {len(part):,} of {len(groups):,} partitions" if partial else reason
            yield self._optimize(np.concatenate([members for _, members in part]), small, adrift, where, told)

    def _optimize(
        self,
        members: npt.NDArray[np.int64],
        small: npt.NDArray[np.bool_],
        adrift: npt.NDArray[np.bool_],
        where: str,
        reason: str,
    ) -> Action:
        files, kind = self.state.files, self._order_kind() or COMPACT
        # Z-order writes the whole partition anew; the others, only what is small or outside the order.
        rewritten = members if kind == ZORDER else members[small[members] | adrift[members]]
        rewritten_bytes = int(files.sizes[rewritten].sum())
        left = len(members) - len(rewritten)
        after = left + self._files_after(rewritten)
        zorder = ""
        if kind == ZORDER:
            zorder = f" zorder by ({', '.join(self.table.order)})"
        saved = len(members) - after
        return Action(
            table=self.table,
            kind=kind,
            statement=f"optimize {self._name()}{where}{zorder}",
            reason=reason,
            files_before=len(members),
            files_after=after,
            bytes_before=int(files.sizes[members].sum()),
            bytes_after=int(files.sizes[members].sum()),
            bytes_rewritten=rewritten_bytes,
            need=saved + float(files.sizes[members[adrift[members]]].sum()) / self.target,
            target_file_size=self.target,
            window=self.settings.window,
        )

    def _files_after(self, rewritten: npt.NDArray[np.int64]) -> int:
        sizes: dict[tuple[Any, ...], int] = {}
        for number in rewritten:
            values = self.state.files.partitions[number]
            sizes[values] = sizes.get(values, 0) + int(self.state.files.sizes[number])
        return sum(max(1, math.ceil(total / self.target)) for total in sizes.values())

    def _where(self, partitions: list[tuple[Any, ...]]) -> str:
        names = self.state.partition_columns
        each = [
            " and ".join(
                f"{_quoted(name)} <=> {_literal(value)}" for name, value in zip(names, values, strict=True)
            )
            for values in partitions
        ]
        return f" where {' or '.join(f'({one})' for one in each)}"

    def vacuum(self) -> Iterator[Action]:
        kept = retention_of(self.state, self.settings)
        before_ms = (self.now - kept).timestamp() * 1000
        old = [stone for stone in self.state.log.dead if stone.deleted_ms < before_ms]
        freed = sum(stone.size for stone in old)
        if not old or freed < self.settings.reclaim_bytes:
            return
        short = kept < SHORTEST_RETENTION
        why = f"{size(freed)} in {len(old):,} files removed over {days(kept)} ago"
        yield Action(
            table=self.table,
            kind=VACUUM,
            statement=f"vacuum {self._name()} retain {hours(kept)} hours",
            reason=f"{why}; short retention: {self.settings.allow_short_retention}" if short else why,
            files_before=len(old),
            files_after=0,
            bytes_before=freed,
            bytes_after=0,
            bytes_rewritten=0,
            need=freed / self.target,
            target_file_size=self.target,
            window=self.settings.window,
            override=self.settings.allow_short_retention if short else None,
        )

    def _name(self) -> str:
        """By its path: no metastore, which another process may be using, is asked."""
        return f"delta.`{self.table.uri.replace('`', '``')}`"


def hours(duration: timedelta) -> int:
    return math.ceil(duration / timedelta(hours=1))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return f"timestamp '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, int | float):
        return str(value)
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
