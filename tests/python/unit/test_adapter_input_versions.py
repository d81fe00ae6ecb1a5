"""Which input versions a model notes, and when there is nothing new."""

from __future__ import annotations

import getpass
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from dbt.adapters.sedona.delta_log import Commit
from dbt.adapters.sedona.input_versions import InputVersions
from dbt_common.invocation import get_invocation_id


class Name:
    def __init__(self, name: str) -> None:
        self.name = name

    def render(self) -> str:
        return self.name


class FakeLog:
    def __init__(self, commits: list[Commit]) -> None:
        self._commits = commits
        self.versions = [commit.version for commit in commits]

    def newest(self, limit: int) -> list[Commit]:
        return self._commits[:limit]

    def commit(self, version: int) -> Commit:
        return next(commit for commit in self._commits if commit.version == version)


class FakeTables:
    """Stands for the adapter and the tables' logs: newest commit first, as (version, userMetadata)."""

    def __init__(self, **histories: list[tuple[int, str | None]]) -> None:
        self.histories = histories
        self.incarnation = "first"
        self.operation = "OPTIMIZE"
        # Of single versions: operation and parameters.
        self.operations: dict[str, dict[int, tuple[str, dict[str, str]]]] = defaultdict(dict)
        self.settings: dict[str, str] = {}

    def table_log(self, name: str) -> Any:
        commits = self.histories[name]
        return FakeLog(
            [
                Commit(
                    version,
                    text,
                    self.operations[name].get(version, (self.operation,))[0],
                    f"{self.incarnation}-{version}",
                    *self.operations[name].get(version, (None,))[1:],
                )
                for version, text in commits
            ]
        )

    @contextmanager
    def commit_settings(self, settings: dict[str, str]) -> Iterator[None]:
        self.settings = settings
        try:
            yield
        finally:
            self.settings = {}


class FakeServer(FakeTables):
    """As seen through a server: SQL only."""

    def table_log(self, name: str) -> None:
        return None

    def execute(self, sql: str, **_: Any) -> Any:
        words = sql.split()
        assert words[:2] == ["describe", "history"]
        rows = [
            {"version": version, "userMetadata": text, "operation": "WRITE"}
            for version, text in self.histories[words[2]]
        ]
        return None, SimpleNamespace(rows=rows[: int(words[4])])


NOTE = "spark.databricks.delta.commitInfo.userMetadata"


def written_note(inputs: InputVersions, tables: FakeTables) -> str | None:
    """What the commit of the model's rows carries."""
    inputs.arm()
    with inputs.in_commit(tables):
        return tables.settings.get(NOTE)


def note(**versions: int) -> str:
    return json.dumps({"dbt_inputs": versions})


def test_a_first_run_reads_all_and_notes_the_version() -> None:
    tables = FakeTables(source=[(7, None)])
    inputs = InputVersions()
    assert inputs.read(tables, None, Name("source")) == {"last": None, "version": 7, "has_changed": True}
    assert not inputs.nothing_new()
    inputs.use_code("of today")
    assert json.loads(written_note(inputs, tables)) == {
        "dbt_inputs": {"source": 7},
        "dbt_input_transactions": {"source": "first-7"},
        "dbt_input_digests": {},
        "dbt_code": "of today",
        "dbt_run": get_invocation_id(),
        "dbt_user": getpass.getuser(),
    }


def test_a_later_run_asks_for_what_came_since() -> None:
    tables = FakeTables(source=[(9, None)], target=[(3, note(source=7))])
    read = InputVersions().read(tables, Name("target"), Name("source"))
    assert read == {"last": 7, "version": 9, "has_changed": True}


def test_nothing_new_only_if_no_input_has_changed() -> None:
    tables = FakeTables(one=[(4, None)], two=[(6, None)], target=[(3, note(one=4, two=5))])
    inputs = InputVersions()
    inputs.read(tables, Name("target"), Name("one"))
    assert inputs.nothing_new()
    inputs.read(tables, Name("target"), Name("two"))
    assert not inputs.nothing_new()


def test_a_model_that_names_no_input_always_writes() -> None:
    assert not InputVersions().nothing_new()


def test_the_note_is_found_behind_other_commits() -> None:
    history = [
        (8, None),
        (7, "somebody's words"),
        (6, '["a list"]'),
        (5, note(source=2)),
        (4, note(source=1)),
    ]
    tables = FakeTables(source=[(2, None)], target=history)
    assert InputVersions().read(tables, Name("target"), Name("source"))["last"] == 2


def test_a_note_too_far_back_means_read_all() -> None:
    history = [(99 - number, None) for number in range(60)] + [(39, note(source=2))]
    tables = FakeTables(source=[(2, None)], target=history)
    assert InputVersions().read(tables, Name("target"), Name("source"))["last"] is None


def test_the_version_is_read_once_a_model() -> None:
    """Two CTEs on one input must see the same version, even if somebody writes in between."""
    tables = FakeTables(source=[(7, None)])
    inputs = InputVersions()
    inputs.read(tables, None, Name("source"))
    tables.histories["source"] = [(8, None)]
    assert inputs.read(tables, None, Name("source"))["version"] == 7


def test_only_the_statement_after_arming_carries_the_note() -> None:
    tables = FakeTables(source=[(7, None)])
    inputs = InputVersions()
    inputs.read(tables, None, Name("source"))
    with inputs.in_commit(tables):
        assert tables.settings == {}, "an ALTER before the rows"
    assert written_note(inputs, tables)
    with inputs.in_commit(tables):
        assert tables.settings == {}, "an ALTER after them"


def test_a_write_is_for_the_version_that_it_was_planned_against() -> None:
    tables = FakeTables(source=[(9, None)], target=[(3, note(source=7))])
    inputs = InputVersions()
    inputs.read(tables, Name("target"), Name("source"))
    inputs.arm()
    with inputs.in_commit(tables):
        assert tables.settings["spark.databricks.delta.write.txnAppId"] == "dbt"
        assert tables.settings["spark.databricks.delta.write.txnVersion"] == "4"


def test_leaving_a_model_leaves_nothing_for_the_next() -> None:
    tables = FakeTables(source=[(7, None)])
    inputs = InputVersions()
    inputs.read(tables, None, Name("source"))
    inputs.replace_predicate = "day = '2024-01-01'"
    inputs.leave()
    assert inputs.replace_predicate is None
    assert written_note(inputs, tables) is None


def rebuilds(tables: FakeTables, code: str | None = "of today", can_rebuild: bool = True) -> bool:
    return InputVersions().must_rebuild(tables, Name("target"), code, can_rebuild)


def test_other_code_computes_the_table_whole() -> None:
    told = json.dumps({"dbt_inputs": {}, "dbt_code": "of yesterday"})
    tables = FakeTables(target=[(3, told)])
    assert rebuilds(tables)
    assert not rebuilds(tables, can_rebuild=False)
    assert not rebuilds(tables, code=None), "it never asks what is new"
    assert not rebuilds(tables, code="of yesterday")
    assert not rebuilds(FakeTables(target=[(3, note())])), "written before code was noted"
    assert rebuilds(FakeTables(target=[(3, None)])), "nobody knows what it holds"


def test_an_input_that_was_replaced_or_is_gone_computes_the_table_whole() -> None:
    tables = FakeTables(source=[(4, None), (3, None)], target=[(3, note(source=3))])
    assert not rebuilds(tables)
    for operation in ("RESTORE", "CREATE OR REPLACE TABLE AS SELECT", "CLONE"):
        tables.operations["source"] = {4: (operation, {})}
        assert rebuilds(tables)
        assert not rebuilds(tables, code=None)
    del tables.histories["source"]
    assert rebuilds(tables)


def test_the_note_of_a_restored_table_is_that_of_what_it_holds() -> None:
    tables = FakeTables(source=[(9, None)], target=[(5, None), (4, note(source=9)), (3, note(source=7))])
    tables.operations["target"] = {5: ("RESTORE", {"version": "3"})}
    assert InputVersions().read(tables, Name("target"), Name("source"))["last"] == 7
    tables.operations["target"] = {5: ("RESTORE", {"timestamp": "2026-01-01"})}
    assert InputVersions().read(tables, Name("target"), Name("source"))["last"] is None


def test_several_commits_are_what_they_add_up_to() -> None:
    tables = FakeTables(source=[(4, None), (3, None), (2, None), (1, None)])
    operations = tables.operations["source"] = {}

    def only_appends() -> bool:
        return InputVersions().only_appends(tables, "source", 2, 4)

    assert only_appends(), "none of them changes rows"
    operations[2] = ("MERGE", {})
    assert only_appends(), "one alone"
    operations[4] = ("WRITE", {"mode": "Append"})
    assert not only_appends()
    operations[2] = ("WRITE", {"mode": "Append"})
    assert only_appends()
    operations[2] = ("WRITE", {"mode": "Overwrite"})
    assert not only_appends()


def test_inputs_that_are_no_tables() -> None:
    inputs = InputVersions()
    inputs.note_change("landing/parcels", False)
    assert inputs.nothing_new()
    inputs.note_change("landing/zones", True)
    assert not inputs.nothing_new()


def test_a_folder_is_as_noted_if_it_holds_the_same_files() -> None:
    tables = FakeTables(target=[(0, None)])
    inputs = InputVersions()
    files = [{"path": "file:/landing/1.json", "modified_ms": 1, "bytes": 10}]
    assert not inputs.is_as_noted(tables, None, "landing", files)
    tables.histories["target"] = [(1, None), (0, written_note(inputs, tables))]
    assert InputVersions().is_as_noted(tables, Name("target"), "landing", files)
    assert not InputVersions().is_as_noted(
        tables, Name("target"), "landing", [{**files[0], "modified_ms": 2}]
    )
    assert not InputVersions().is_as_noted(tables, Name("target"), "elsewhere", files)
    assert not InputVersions().is_as_noted(tables, Name("target"), "landing", [])
    tables.operation = "DELETE"
    assert not InputVersions().is_as_noted(tables, Name("target"), "landing", files), (
        "rows may have gone since"
    )


def test_what_is_not_settled_is_not_noted() -> None:
    tables = FakeTables(target=[(0, None)])
    inputs = InputVersions()
    inputs.is_as_noted(tables, None, "landing", ["a file that is cut"])
    inputs.forget_noted("landing")
    assert written_note(inputs, tables) is None


def test_a_value_is_kept_until_somebody_else_writes_rows() -> None:
    tables = FakeTables(target=[(0, None)])
    inputs = InputVersions()
    inputs.note_value("compared at", 12)
    tables.histories["target"] = [(1, None), (0, written_note(inputs, tables))]
    assert InputVersions().noted_value(tables, Name("target"), "compared at") == "12"
    assert InputVersions().noted_value(tables, None, "compared at") is None
    tables.operation = "DELETE"
    assert InputVersions().noted_value(tables, Name("target"), "compared at") is None


def test_a_strategy_for_one_run_is_not_the_next_models() -> None:
    inputs = InputVersions()
    inputs.enter("model.a")
    inputs.strategy = "merge"
    inputs.enter("model.a")
    assert inputs.strategy == "merge"
    inputs.enter("model.b")
    assert inputs.strategy is None


def test_an_input_made_anew_is_read_whole() -> None:
    """Dropped and created again, it has reached the noted version a second time, with other rows."""
    transactions = {"source": "first-2"}
    told = json.dumps({"dbt_inputs": {"source": 2}, "dbt_input_transactions": transactions})
    tables = FakeTables(source=[(2, None), (1, None)], target=[(3, told)])
    assert InputVersions().read(tables, Name("target"), Name("source"))["has_changed"] is False
    tables.incarnation = "second"
    read = InputVersions().read(tables, Name("target"), Name("source"))
    assert read == {"last": None, "version": 2, "has_changed": True}


def test_an_input_whose_versions_went_back_is_read_whole() -> None:
    tables = FakeServer(source=[(2, None)], target=[(3, note(source=9))])
    read = InputVersions().read(tables, Name("target"), Name("source"))
    assert read == {"last": None, "version": 2, "has_changed": True}


def test_through_a_server_it_is_plain_sql() -> None:
    tables = FakeServer(source=[(9, None), (8, None)], target=[(4, None), (3, note(source=7))])
    read = InputVersions().read(tables, Name("target"), Name("source"))
    assert read == {"last": 7, "version": 9, "has_changed": True}


def test_what_a_failed_model_left_is_not_the_next_ones() -> None:
    """dbt compiles, and may fail there; only what is executed is told to forget."""
    tables = FakeTables(source=[(4, None)], target=[(3, note(source=4))])
    inputs = InputVersions()
    inputs.enter("model.one")
    inputs.read(tables, Name("target"), Name("source"))
    inputs.replace_predicate = "true"
    assert inputs.nothing_new()
    inputs.enter("model.one")
    assert inputs.nothing_new()
    inputs.enter("model.two")
    assert not inputs.nothing_new()
    assert inputs.replace_predicate is None
