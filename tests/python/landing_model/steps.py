"""What may happen to a world between two runs. A step says all it needs, so that any part of a script is a script."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ground import Ground, World
from hypothesis import strategies as st
from killing import Kill
from oracle import LONG_AGO, Content, File, Row
from worlds import models_of, table_name

NAMES = ("a.csv", "b.csv", "c.csv")
ON_SILVER = ("places", "verdicts", "daily", "summary")


@dataclass(frozen=True)
class Step:
    def apply(self, ground: Ground, world: World) -> None:
        """Nothing, if it does not fit what is there."""


@dataclass(frozen=True)
class Put(Step):
    """A file is delivered, or delivered again, `minutes` after the time of the file that it replaces."""

    file: int
    content: Content
    minutes: int

    def apply(self, ground: Ground, world: World) -> None:
        if world.oracle.is_mounted:
            name = NAMES[self.file]
            before = world.oracle.files.get(name)
            file = File(self.content, (before.at if before else LONG_AGO) + 60 * self.minutes)
            world.written.setdefault(name, []).append(file)
            ground.write(world, name, file)


@dataclass(frozen=True)
class PutBack(Step):
    """An older version of a file with its own time, as by `cp -p`."""

    file: int
    back: int

    def apply(self, ground: Ground, world: World) -> None:
        versions = world.written.get(NAMES[self.file], [])
        if world.oracle.is_mounted and len(versions) >= self.back:
            ground.write(world, NAMES[self.file], versions[-self.back])


@dataclass(frozen=True)
class Rename(Step):
    file: int
    to: int

    def apply(self, ground: Ground, world: World) -> None:
        name, other = NAMES[self.file], NAMES[self.to]
        if world.oracle.is_mounted and name != other and name in world.oracle.files:
            file = world.oracle.files[name]
            ground.remove(world, name)
            world.written.setdefault(other, []).append(file)
            ground.write(world, other, file)


@dataclass(frozen=True)
class Archive(Step):
    file: int

    def apply(self, ground: Ground, world: World) -> None:
        if world.oracle.is_mounted and NAMES[self.file] in world.oracle.files:
            ground.remove(world, NAMES[self.file])


@dataclass(frozen=True)
class Mount(Step):
    """The landing folder goes, or comes back."""

    is_mounted: bool

    def apply(self, ground: Ground, world: World) -> None:
        ground.mount(world, self.is_mounted)


@dataclass(frozen=True)
class Trouble(Step):
    """A file can't be read for now, or can again."""

    file: int
    is_over: bool

    def apply(self, ground: Ground, world: World) -> None:
        name = NAMES[self.file]
        if self.is_over:
            ground.mend(world, name)
        elif name in world.oracle.files:
            ground.trouble(world, name)


@dataclass(frozen=True)
class EditRule(Step):
    below: int

    def apply(self, ground: Ground, world: World) -> None:
        world.oracle.below = self.below
        ground.declare(world)


@dataclass(frozen=True)
class EditPolicy(Step):
    """What is to be done about a column that is not declared."""

    policy: str

    def apply(self, ground: Ground, world: World) -> None:
        world.oracle.policy = self.policy
        ground.declare(world)


@dataclass(frozen=True)
class EditSql(Step):
    model: str
    variant: int

    def apply(self, ground: Ground, world: World) -> None:
        # The checked rows of snapshots hold nothing to edit.
        if self.model in models_of(world.name) and (self.model != "checked" or not world.oracle.is_snapshot):
            world.oracle.variants[self.model] = self.variant
            ground.edit(world, self.model)


@dataclass(frozen=True)
class Refresh(Step):
    """--full-refresh of some models."""

    models: tuple[str, ...]
    may_drop: bool = False


@dataclass(frozen=True)
class Restore(Step):
    model: str
    back: int

    def apply(self, ground: Ground, world: World) -> None:
        if self.model not in models_of(world.name):
            return
        versions = ground.log(world.name, self.model)
        if self.model == "raw":
            versions = [version for version in versions if version in world.seen]
        if len(versions) <= self.back:
            return
        version = versions[-1 - self.back]
        table = table_name(world.name, self.model)
        if self.model == "raw":
            ground.sql(f"alter table {table} set tblproperties ('delta.appendOnly' = 'false')")
        ground.sql(f"restore table {table} to version as of {version}")
        if self.model == "raw":
            world.oracle.deliveries, world.oracle.answered = world.seen[version]
            world.seen[ground.log(world.name, "raw")[-1]] = world.seen[version]


@dataclass(frozen=True)
class Replace(Step):
    """Somebody makes a table anew by SQL: without its rows where they can be computed again."""

    model: str

    def apply(self, ground: Ground, world: World) -> None:
        if self.model in models_of(world.name) and ground.log(world.name, self.model):
            table = table_name(world.name, self.model)
            ground.sql(f"create or replace table {table} using delta as select * from {table} where false")


@dataclass(frozen=True)
class Drop(Step):
    model: str

    def apply(self, ground: Ground, world: World) -> None:
        if self.model in models_of(world.name) and ground.log(world.name, self.model):
            ground.sql(f"drop table if exists {table_name(world.name, self.model)}")


@dataclass(frozen=True)
class Optimize(Step):
    model: str

    def apply(self, ground: Ground, world: World) -> None:
        if self.model in models_of(world.name) and ground.log(world.name, self.model):
            ground.sql(f"optimize {table_name(world.name, self.model)}")


@dataclass(frozen=True)
class Forget(Step):
    column: str
    value: str

    def apply(self, ground: Ground, world: World) -> None:
        """Of what was judged: it refuses otherwise, so a run comes first."""
        if (world.oracle.is_snapshot and self.column != "key") or not any(world.oracle.deliveries):
            return
        ground.run([world.name], {world.name: ON_SILVER})
        names = {"key": "stop_id" if world.oracle.is_snapshot else "sign_id", "label": "label"}
        column = names[self.column]
        ground.operation(
            "forget", entity=world.name, key=self.value, column=column, reason="asked", apply=True
        )
        world.oracle.forget(self.column, self.value)


@dataclass(frozen=True)
class Release(Step):
    """Refused files are read again, or rows judged again after the extent grew."""

    is_of_files: bool

    def apply(self, ground: Ground, world: World) -> None:
        if not any(world.oracle.deliveries) or (world.oracle.is_snapshot and not self.is_of_files):
            return
        # It looks at the quarantine: what is waiting in bronze must be judged before.
        ground.run([world.name], {world.name: ON_SILVER})
        if not self.is_of_files:
            ground.widen(world)
        elif not any(one.is_refused for one in world.oracle.deliveries):
            return
        reason = "file_accepted" if self.is_of_files else "within_extent"
        ground.operation("release_quarantine", entity=world.name, reason=reason, dry_run=False)
        if self.is_of_files:
            world.oracle.release_files()


@dataclass(frozen=True)
class Round:
    """One step of each world, then a run that may be killed or leave models out."""

    steps: dict[str, Step]
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kill: tuple[str, Kill] | None = None

    def play(self, ground: Ground) -> bool:
        """True if the run ended, so that all was compared."""
        names = list(self.steps)
        for name, step in self.steps.items():
            ground.worlds[name].is_new = False
            step.apply(ground, ground.worlds[name])
        refreshed = {
            name: models
            for name, step in self.steps.items()
            if isinstance(step, Refresh)
            and (models := tuple(model for model in step.models if model in models_of(name)))
        }
        may_drop = any(isinstance(step, Refresh) and step.may_drop for step in self.steps.values())
        if refreshed:
            kill = self.kill if self.kill and self.kill[0] in refreshed else None
            if not ground.refresh(refreshed, may_drop, kill):
                return False
        return ground.run(names, self.left_out, self.kill)

    def only(self, worlds: Collection[str]) -> Round:
        """This round, as some of the worlds see it."""
        steps = {name: step for name, step in self.steps.items() if name in worlds}
        kill = (
            (self.kill[0] if self.kill[0] in steps else next(iter(steps)), self.kill[1])
            if self.kill
            else None
        )
        return Round(steps, self.left_out, kill)


_rows = st.builds(
    Row,
    key=st.sampled_from("pppqqqrs "),
    label=st.sampled_from("xyz"),
    height=st.sampled_from([3, 5, 9]),
    is_deleted=st.sampled_from([False, False, False, True]),
    day=st.sampled_from([1, 2, 3]),
    place=st.sampled_from(["inside"] * 6 + ["outside", "torn"]),
)
_contents = st.builds(
    Content,
    rows=st.one_of(*[st.lists(_rows, min_size=1, max_size=3).map(tuple)] * 5, st.just(()), st.none()),
    has_extra_column=st.sampled_from([False] * 4 + [True]),
)
_files = st.integers(0, len(NAMES) - 1)
_models = st.sampled_from(["checked", "entity", "places", "verdicts", "daily", "summary"])
_any_model = st.one_of(st.just("raw"), _models)

_puts = st.builds(Put, _files, _contents, st.sampled_from([1, 1, 0, 0, -1]))
_backs = st.builds(PutBack, _files, st.integers(2, 3))
STEPS: st.SearchStrategy[Any] = st.one_of(
    *[_puts] * 8,
    *[_backs] * 3,
    st.builds(Rename, _files, _files),
    *[st.builds(Archive, _files)] * 2,
    st.builds(Mount, st.booleans()),
    *[st.builds(Trouble, _files, st.booleans())] * 2,
    *[st.builds(EditRule, st.sampled_from([4, 6, 10]))] * 2,
    *[st.builds(EditPolicy, st.sampled_from(["strict", "rescue", "additive"]))] * 2,
    *[st.builds(EditSql, _models, st.sampled_from([1, 2]))] * 2,
    *[st.builds(Refresh, st.lists(_any_model, min_size=1, max_size=4, unique=True).map(tuple))] * 2,
    st.builds(Refresh, st.just(("raw", "checked")), st.just(True)),
    *[st.builds(Restore, _any_model, st.integers(1, 4))] * 3,
    *[st.builds(Replace, _models)] * 2,
    st.builds(Drop, _models),
    st.builds(Optimize, _any_model),
    st.builds(Forget, st.just("key"), st.sampled_from("pqr")),
    st.builds(Forget, st.just("label"), st.sampled_from("xyz")),
    *[st.builds(Release, st.sampled_from([True, True, False]))] * 2,
)
LEFT_OUT = st.sampled_from(
    [()] * 6
    + [("places", "verdicts"), ("places", "verdicts", "daily", "summary", "count"), ("entity",), ("checked",)]
)
KILLS = st.builds(Kill, st.integers(1, 10), st.booleans())
