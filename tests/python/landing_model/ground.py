"""Where the worlds live: files, tables and runs of dbt, each compared with its oracle."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import worlds
from killing import Kill, KillSwitch
from lakehouse import Lakehouse
from oracle import LONG_AGO, Content, Delivery, File, Oracle, Row
from transient_faults import mark_of
from worlds import model_name, models_of, table_name

from geostrata import dbt_calls

OPS = ("release_requests", "check_runs", "forget_log")
_PLACES = {"inside": "POINT (15 48)", "outside": "POINT (2 48)", "torn": "POINT (x 48)"}
_SIGNS_HEADER = "sign_id,label,height_m,is_deleted,updated_at,geometry"
_STOPS_HEADER = "stop_id,lon,lat"


class MismatchError(AssertionError):
    def __init__(self, world: str, what: str) -> None:
        super().__init__(f"{world}: {what}")
        self.world = world


@dataclass
class World:
    name: str
    oracle: Oracle
    # Bronze by version of its table, as far as something was seen of it: deliveries, and how many requests for release they answer.
    seen: dict[int, tuple[list[Delivery], int]] = field(default_factory=dict)
    written: dict[str, list[File]] = field(default_factory=dict)
    # Nothing has happened to it yet.
    is_new: bool = True


@dataclass
class Ground:
    lakehouse: Lakehouse
    marks: Path
    switch: KillSwitch
    worlds: dict[str, World] = field(default_factory=dict)
    # Seconds by kind of work, to be told.
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    # Files

    def folder(self, world: str) -> Path:
        return self.lakehouse.landing / world

    def write(self, world: World, name: str, file: File) -> None:
        path = self.folder(world.name) / name
        path.write_text(_text(file.content, world.oracle.is_snapshot))
        os.utime(path, (file.at, file.at))
        world.oracle.files[name] = file

    def remove(self, world: World, name: str) -> None:
        (self.folder(world.name) / name).unlink()
        del world.oracle.files[name]
        self.mend(world, name)

    def trouble(self, world: World, name: str) -> None:
        mark_of(self.marks, self.folder(world.name) / name).touch()
        world.oracle.unreadable.add(name)

    def mend(self, world: World, name: str) -> None:
        mark_of(self.marks, self.folder(world.name) / name).unlink(missing_ok=True)
        world.oracle.unreadable.discard(name)

    def mount(self, world: World, is_mounted: bool) -> None:
        folder, elsewhere = self.folder(world.name), self.folder(world.name).with_name(f"{world.name}.away")
        if is_mounted != world.oracle.is_mounted:
            (elsewhere if is_mounted else folder).rename(folder if is_mounted else elsewhere)
            world.oracle.is_mounted = is_mounted

    # Tables

    def sql(self, statement: str) -> list[Any]:
        """By somebody else than dbt."""
        from dbt.adapters.sedona import session

        return list(session._root.sql(statement).collect())

    def log(self, world: str, model: str) -> list[int]:
        schema, table = table_name(world, model).split(".")
        folder = self.lakehouse.state / "warehouse" / f"{schema}.db" / table / "_delta_log"
        return sorted(int(path.stem) for path in folder.glob("*.json") if path.stem.isdigit())

    def rows(self, world: str, model: str) -> list[dict[str, Any]]:
        return self.lakehouse.rows(table_name(world, model))

    def declare(self, world: World) -> None:
        worlds.write_source(self.lakehouse.project / "models", world.name, world.oracle)

    def edit(self, world: World, model: str) -> None:
        worlds.write_one(self.lakehouse.project / "models", world.name, model, world.oracle)

    # Runs

    def reset(self, names: Iterable[str]) -> None:
        """New worlds in the place of the old: no file, no table, models as at first."""
        for name in names:
            if name in self.worlds and self.worlds[name].is_new:
                continue
            if name in self.worlds:
                self.mount(self.worlds[name], True)
                self._write_extent(name, is_wide=False)
                for model in models_of(name):
                    self.sql(f"drop table if exists {table_name(name, model)}")
            shutil.rmtree(self.folder(name), ignore_errors=True)
            self.folder(name).mkdir(parents=True)
            for mark in self.marks.glob(f"{name}+*"):
                mark.unlink()
            world = World(name, Oracle(worlds.kind_of(name) == "stops"))
            self.worlds[name] = world
            self.declare(world)
            for model in models_of(name):
                self.edit(world, model)

    def widen(self, world: World) -> None:
        world.oracle.is_wide = True
        self._write_extent(world.name, is_wide=True)

    def _write_extent(self, name: str, is_wide: bool) -> None:
        self.sql(f"update reference.extents set min_lon = {0 if is_wide else 14} where extent = '{name}'")

    def operation(self, name: str, entity: str, **arguments: Any) -> None:
        with self._timed(name):
            outcome = _dbt("run-operation", name, "--args", json.dumps({"entity": entity, **arguments}))
        if not outcome.success:
            raise MismatchError(entity, f"{name} failed: {arguments} {dbt_calls.first_line(outcome)}")

    def run(
        self,
        names: list[str],
        left_out: dict[str, tuple[str, ...]] | None = None,
        kill: tuple[str, Kill] | None = None,
    ) -> bool:
        """Builds all models of the worlds but those that are left out. True if it was not killed, and all was compared."""
        # A table that is not there yet can't be left out: what reads it would fail.
        out = {
            name: tuple(model for model in models if self.log(name, model))
            for name, models in (left_out or {}).items()
        }
        models = [
            model_name(name, model)
            for name in names
            for model in models_of(name)
            if model not in out.get(name, ())
        ]
        with self.switch.armed(*_aim(kill)), self._timed("run"):
            outcome = _dbt("run", "--select", *models)
            was_killed = self.switch.is_dead
        if not was_killed and not outcome.success:
            self._blame(names, outcome)
        for name in names:
            self._settle(
                self.worlds[name],
                [self.worlds[name].oracle.after_load()],
                may_be_before=was_killed or "raw" in out.get(name, ()),
            )
        if not was_killed:
            self.check(names, out)
        return not was_killed

    def refresh(
        self, chosen: dict[str, tuple[str, ...]], may_drop: bool, kill: tuple[str, Kill] | None = None
    ) -> bool:
        """--full-refresh of these models only. True if it was not killed."""
        models = [model_name(name, model) for name, of in chosen.items() for model in of]
        allowed = ["--vars", "drop_missing_files: true"] if may_drop else []
        with self.switch.armed(*_aim(kill)), self._timed("refresh"):
            outcome = _dbt("run", "--full-refresh", "--select", *models, *allowed)
            was_killed = self.switch.is_dead
        found = {result.node.name: result for result in outcome.result.results} if outcome.result else {}
        refused: set[str] = set()
        for name, of in chosen.items():
            world = self.worlds[name]
            if "raw" not in of:
                continue
            expected = world.oracle.after_refresh(may_drop)
            result = found.get(model_name(name, "raw"))
            message = str(result.message) if result else ""
            if expected is None:
                refused.add(name)
            if expected is None and not was_killed and "full refresh would lose" not in message:
                raise MismatchError(name, f"a full refresh of bronze was not refused: {message}")
            if expected is not None and not was_killed and (result is None or result.status != "success"):
                raise MismatchError(name, f"a full refresh of bronze failed: {message}")
            self._settle(
                world,
                [expected] if expected is not None else [],
                may_be_before=was_killed or expected is None,
            )
        for name, of in chosen.items() if not was_killed else ():
            for model in of:
                result = found.get(model_name(name, model))
                message = str(result.message) if result else "it did not run"
                # After a kill its input may not be there yet.
                is_well = (result and result.status == "success") or "NOT_FOUND" in message
                if name not in refused and not is_well:
                    raise MismatchError(name, f"refresh of {model}: {message}")
        return not was_killed

    def _blame(self, names: list[str], outcome: Any) -> None:
        message = dbt_calls.first_line(outcome)
        for result in outcome.result.results if outcome.result else ():
            if result.status == "error":
                for name in names:
                    if result.node.name in [model_name(name, model) for model in models_of(name)]:
                        raise MismatchError(name, f"{result.node.name} failed: {result.message}")
        raise MismatchError(names[0], f"dbt failed: {message}")

    # Comparisons

    def _settle(self, world: World, after: list[list[Delivery]], may_be_before: bool) -> None:
        """Which of the states that bronze may be in it is in."""
        before = world.oracle.deliveries
        versions = self.log(world.name, "raw")
        if not versions and (may_be_before or not before):
            return
        found = _bronze(self.rows(world.name, "raw"))
        for state in [*after, *([before] if may_be_before else [])]:
            if found == _expected_bronze(state):
                if state is not before and state != before:
                    world.oracle.loaded(state)
                world.seen[versions[-1]] = (world.oracle.deliveries, world.oracle.answered)
                return
        raise MismatchError(
            world.name,
            f"bronze holds {_shown(found, _expected_bronze(after[0] if after else before))}",
        )

    def check(self, names: list[str], left_out: dict[str, tuple[str, ...]] | None = None) -> None:
        out = {name: set((left_out or {}).get(name, ())) for name in names}
        with self._timed("check"):
            for name in names:
                expected = self.worlds[name].oracle.tables()
                for model in models_of(name)[2:]:
                    if not _needs(model) & out[name]:
                        rows = expected[model]
                        found = _table(self.rows(name, model), model, self.worlds[name].oracle)
                        if found != rows:
                            raise MismatchError(name, f"{table_name(name, model)}: {_shown(found, rows)}")
            self._check_ops([name for name in names if not out[name] & {"raw", "checked", "entity"}])

    def _check_ops(self, names: list[str]) -> None:
        for row in self.sql("select * from ops.row_ledger"):
            found = row.asDict()
            if (name := found.pop("entity")) in names:
                expected = self.worlds[name].oracle.ledger()
                if found != expected:
                    raise MismatchError(name, f"the ledger says {found}, the oracle {expected}")
        quarantined: dict[str, Counter[Any]] = {name: Counter() for name in names}
        for row in self.sql("select entity, _source_file, entity_key, reasons from ops.quarantine"):
            if row["entity"] in names:
                key = (Path(row["_source_file"]).name, row["entity_key"], tuple(row["reasons"]))
                quarantined[row["entity"]][key] += 1
        for name, found in quarantined.items():
            expected = self.worlds[name].oracle.quarantine()
            if found != expected:
                raise MismatchError(name, f"the quarantine: {_shown(found, expected)}")

    def check_against_whole(self, names: list[str]) -> None:
        """Silver and gold equal what their SQL gives as on a full refresh."""
        models = {
            model_name(name, model): (name, model)
            for name in names
            for model in models_of(name)
            if model not in ("raw", "checked")
        }
        with self._timed("whole"):
            outcome = _dbt("compile", "--full-refresh", "--select", *models)
            if not outcome.success:
                self._blame(names, outcome)
            parts = []
            for result in outcome.result.results:
                name, model = models[result.node.name]
                for rows, sign in (
                    (f"({result.node.compiled_code})", 1),
                    (f"{table_name(name, model)}", -1),
                ):
                    parts.append(
                        f"select '{name}' as world, '{model}' as model, {sign} as sign, to_json(struct(*)) as row"
                        f" from {rows} as it"
                    )
            differing = self.sql(
                "select world, model, row, sum(sign) as surplus from (" + " union all ".join(parts) + ")"
                " group by world, model, row having sum(sign) <> 0"
            )
            if differing:
                first = differing[0]
                told = "; ".join(f"{row['model']} {row['surplus']:+} {row['row']}" for row in differing[:4])
                raise MismatchError(first["world"], f"differs from a full refresh: {told}")

    @contextlib.contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] = round(self.spent[what] + time.monotonic() - began, 1)


def _dbt(*arguments: str) -> Any:
    """Without what it prints of errors that are meant, and of what it has compiled."""
    with contextlib.redirect_stdout(io.StringIO()):
        return dbt_calls.invoke(list(arguments))


def _aim(kill: tuple[str, Kill] | None) -> tuple[Kill | None, str]:
    return (kill[1], rf"\b(raw_)?{kill[0]}(_[a-z]+)?\b") if kill else (None, "")


def _needs(model: str) -> set[str]:
    """A table can be compared if these ran."""
    return {"raw", "checked", "verdicts"} if model == "verdicts" else {"raw", "checked", "entity", model}


def _text(content: Content, is_snapshot: bool) -> str:
    if content.rows is None:
        return ""
    extra = ",extra" if content.has_extra_column else ""
    header = (_STOPS_HEADER if is_snapshot else _SIGNS_HEADER) + extra
    value = ",7" if content.has_extra_column else ""
    write = _stop if is_snapshot else _sign
    return "".join(f"{line}\n" for line in (header, *(write(row) + value for row in content.rows)))


def _sign(row: Row) -> str:
    deleted = str(row.is_deleted).lower()
    return f"{row.key},{row.label},{row.height},{deleted},2026-01-{row.day:02}T00:00:00Z,{_PLACES[row.place]}"


def _stop(row: Row) -> str:
    return f"{row.key},{15 + row.height / 100 if row.place == 'inside' else 99999:.2f},48"


def _bronze(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter(
        (
            Path(row["_source_file"]).name,
            int(row["_source_mtime"].timestamp()) - LONG_AGO,
            (row["sign_id"] if "sign_id" in row else row["stop_id"]) or None,
            row["_file_problem"] is not None,
        )
        for row in rows
    )


def _expected_bronze(deliveries: list[Delivery]) -> Counter[Any]:
    return Counter(
        (
            one.name,
            one.file.at - LONG_AGO,
            (row.key or None) if row and at not in one.forgotten else None,
            one.is_refused,
        )
        for one in deliveries
        for at, row in enumerate(one.rows())
    )


def _table(rows: list[dict[str, Any]], model: str, oracle: Oracle) -> Counter[Any]:
    def file(row: dict[str, Any]) -> str:
        return Path(row["_source_file"]).name

    if model == "entity" and oracle.is_snapshot:
        return Counter((row["stop_id"], row["label"], file(row)) for row in rows)
    if model == "entity":
        return Counter(
            (row["sign_id"], row["label"], row["height_m"], str(row["updated_at"].date()), file(row))
            for row in rows
        )
    if model == "verdicts":
        return Counter((oracle.told(row["reasons"].split(",")), row["variant"]) for row in rows)
    if model == "daily":
        return Counter((str(row["event_date"]), row["sign_count"], row["height_sum"]) for row in rows)
    columns = {
        "places": ("sign_id", "label", "height_m"),
        "summary": ("key_count",),
    }[model]
    return Counter(tuple(row[column] for column in columns) for row in rows)


def _shown(found: Counter[Any], expected: Counter[Any]) -> str:
    return f"too much {list((found - expected).elements())}, too little {list((expected - found).elements())}"
