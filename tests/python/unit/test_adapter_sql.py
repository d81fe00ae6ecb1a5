"""The SQL that the adapter's macros write, rendered without dbt and without Spark."""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest
from dbt.include.sedona import PACKAGE_PATH

from dbt_sedona_text import literal

MACROS = Path(PACKAGE_PATH) / "macros"


class CompilerError(Exception):
    pass


class _Return(Exception):  # noqa: N818  # no error: the way out of a macro, as in dbt
    pass


class Project:
    """Renders macros as dbt does: each by its name, with `return` and `call statement`, and fakes for the rest."""

    def __init__(self, **config: Any) -> None:
        self.config = {"contract": SimpleNamespace(enforced=False), **config}
        self.statements: list[str] = []
        self.properties: dict[str, str] = {}
        self.predicate: str | None = None
        self.inputs: dict[str, dict[str, Any]] = {}
        self.columns = ["id", "name"]
        self.appends = True
        self.model = SimpleNamespace(name="parcels", constraints=[], columns={})
        self._context: dict[str, Any] = {
            "adapter": self,
            "config": SimpleNamespace(get=lambda key, default=None, **_: self.config.get(key, default)),
            "exceptions": SimpleNamespace(raise_compiler_error=self._fail),
            "execute": True,
            "get_merge_update_columns": lambda update, exclude, columns: update,
            "local_md5": lambda text: hashlib.md5(text.encode()).hexdigest(),  # noqa: S324  # as dbt names things
            "model": self.model,
            "return": self._return,
            "spark__get_merge_sql": lambda *_: "dbt-spark's merge",
            "statement": lambda *_, caller: self.statements.append(plain(caller())) or "",
            "this": "town.parcels",
        }
        for path in MACROS.rglob("*.sql"):
            text = path.read_text()
            if "{% materialization" not in text:
                self._load(text)
        self._context["is_incremental"] = lambda: True

    def _load(self, text: str) -> None:
        """A macro calls another through the context, as in dbt, so that `return` ends only the one it stands in."""
        environment = jinja2.Environment(extensions=["jinja2.ext.do"])  # noqa: S701  # SQL, no HTML
        renamed = re.sub(r"({%-? macro )(\w+)", r"\1dbt\2", text)
        template = environment.from_string(renamed, globals=self._context)
        for name in re.findall(r"{%-? macro (\w+)", text):
            self._context[name] = functools.partial(self._call, template, f"dbt{name}")

    @staticmethod
    def _call(template: jinja2.Template, name: str, *arguments: Any) -> Any:
        try:
            return str(getattr(template.module, name)(*arguments))
        except _Return as done:
            return done.args[0]

    @staticmethod
    def _return(value: Any) -> None:
        raise _Return(value)

    @staticmethod
    def _fail(message: str) -> None:
        raise CompilerError(message)

    def run(self, name: str, *arguments: Any) -> Any:
        result = self._context[name](*arguments)
        return plain(result) if isinstance(result, str) else result

    # The adapter's side.
    def dispatch(self, name: str, _: str) -> Any:
        return self._context[f"sedona__{name}"]

    def get_columns_in_relation(self, _: Any) -> list[Any]:
        return [SimpleNamespace(quoted=f"`{name}`", dtype="string") for name in self.columns]

    def replace_predicate(self) -> str | None:
        return self.predicate

    def set_replace_predicate(self, predicate: str) -> None:
        self.predicate = predicate

    def read_input(self, target: Any, relation: Any) -> dict[str, Any]:
        return self.inputs[str(relation)]

    def only_appends(self, _: Any, first: int, last: int) -> bool:
        return self.appends

    def table_location(self, relation: Any) -> str:
        return f"file:/{str(relation).replace('.', '/')}"

    def check_properties(self, relation: Any, properties: dict[str, str]) -> None:
        pass

    def delta_properties(self, _: Any) -> dict[str, str]:
        return self.properties

    def quote_text(self, text: Any) -> str:
        return literal(str(text))

    def quote(self, name: str) -> str:
        return f"`{name}`"


class Relation:
    is_cte = False
    schema = "town"
    identifier = "raw"

    def __str__(self) -> str:
        return "town.raw"


def plain(text: str) -> str:
    return " ".join(text.split())


def check(expression: str, name: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(type="check", expression=expression, name=name)


def column(name: str, *constraints: SimpleNamespace, quote: bool = False) -> SimpleNamespace:
    return SimpleNamespace(name=name, constraints=list(constraints), quote=quote)


NOT_NULL = SimpleNamespace(type="not_null", expression=None, name=None)


def contracted(**config: Any) -> Project:
    return Project(contract=SimpleNamespace(enforced=True), file_format="delta", **config)


def test_a_plain_merge_is_dbt_sparks() -> None:
    assert Project().run("sedona__get_merge_sql", "t", "s", "id", None, None) == "dbt-spark's merge"


def test_merge_with_deletes() -> None:
    project = Project(merge_delete_when="source.is_deleted")
    assert project.run("sedona__get_merge_sql", "t", "s", "id", None, None) == (
        "merge into t as target using s as source on source.id = target.id "
        "when matched and (source.is_deleted) then delete "
        "when matched then update set * "
        # A null flag is no deletion.
        "when not matched and not coalesce((source.is_deleted), false) then insert *"
    )


def test_merge_of_real_changes_only() -> None:
    project = Project(merge_update_when="source.hash is distinct from target.hash")
    assert project.run("sedona__get_merge_sql", "t", "s", ["id", "day"], None, ["target.day > '2024'"]) == (
        "merge into t as target using s as source "
        "on target.day > '2024' and source.id = target.id and source.day = target.day "
        "when matched and (source.hash is distinct from target.hash) then update set * "
        "when not matched then insert *"
    )


def test_merge_of_some_columns() -> None:
    project = Project(merge_delete_when="source.gone", merge_update_columns=["name", "area"])
    assert "then update set name = source.name, area = source.area when not" in project.run(
        "sedona__get_merge_sql", "t", "s", "id", None, None
    )


def test_merge_conditions_need_a_key() -> None:
    with pytest.raises(CompilerError, match="need a unique_key: parcels has none"):
        Project(merge_delete_when="source.gone").run("sedona__get_merge_sql", "t", "s", None, None, None)


def test_replace_where() -> None:
    project = Project()
    project.run("replace_where", "day = '2024-05-01'")
    assert project.run("get_replace_where_sql", "s", "t") == (
        "insert into t replace where day = '2024-05-01' select `id`, `name` from s"
    )


def test_replace_where_must_be_told_what() -> None:
    with pytest.raises(CompilerError, match=r"call replace_where\(.*\) in parcels"):
        Project().run("get_replace_where_sql", "s", "t")


def test_new_rows_on_a_first_run_is_the_relation_itself() -> None:
    project, relation = Project(incremental_strategy="merge"), Relation()
    project.inputs["town.raw"] = {"last": None, "version": 3, "has_changed": True}
    assert project.run("new_rows", relation) is relation


def test_new_rows_that_cannot_be_told_are_not_appended_twice() -> None:
    project = Project(incremental_strategy="append")
    project.inputs["town.raw"] = {"last": None, "version": 3, "has_changed": True}
    with pytest.raises(CompilerError, match="Run again with --full-refresh"):
        project.run("new_rows", Relation())


def test_new_rows_are_those_of_the_change_feed() -> None:
    project = Project()
    project.inputs["town.raw"] = {"last": 3, "version": 5, "has_changed": True}
    assert project.run("new_rows", Relation()) == (
        "( select * except (_change_type, _commit_version, _commit_timestamp) "
        "from table_changes_by_path('file:/town/raw', 4, 5) where _change_type in ('insert', 'update_postimage') )"
    )


def test_new_rows_of_several_commits_are_what_they_come_to() -> None:
    project = Project()
    project.appends = False
    project.inputs["town.raw"] = {"last": 3, "version": 5, "has_changed": True}
    assert project.run("new_rows", Relation()) == (
        "( select `id`, `name` from ( select `id`, `name`, "
        "sum(if(_change_type in ('insert', 'update_postimage'), 1, -1)) as _net_count "
        "from table_changes_by_path('file:/town/raw', 4, 5) group by `id`, `name` ) "
        "lateral view explode(sequence(1, _net_count)) as _copy where _net_count > 0 )"
    )


def test_merge_where_any_column_differs() -> None:
    project = Project(merge_update_when="content")
    assert (
        "when matched and (not ( source.`id` <=> target.`id` and source.`name` <=> target.`name`)) then update"
        in project.run("sedona__get_merge_sql", "t", "s", "id", None, None)
    )


def test_new_rows_of_an_unchanged_input_are_none() -> None:
    project = Project()
    project.inputs["town.raw"] = {"last": 5, "version": 5, "has_changed": False}
    assert project.run("new_rows", Relation()) == "(select * from town.raw where false)"
    assert project.run("has_changed", Relation()) is False


def test_no_properties_no_clause() -> None:
    assert Project().run("sedona__tblproperties_clause") == ""


def test_a_table_is_born_with_its_constraints() -> None:
    project = contracted(tblproperties={"delta.enableChangeDataFeed": True, "note": "it's"})
    project.model.constraints = [check("area_m2 > 0", "Positive")]
    project.model.columns = {"id": column("id", NOT_NULL), "from": column("from", NOT_NULL, quote=True)}
    clause = project.run("sedona__tblproperties_clause")
    assert clause == plain(
        r"""tblproperties ( 'delta.enableChangeDataFeed' = 'True', 'note' = 'it\'s',
        'delta.constraints.dbt_positive_HASH' = 'area_m2 > 0',
        'delta.constraints.dbt_columns_HASH' = 'id is not null and `from` is not null' )"""
    ).replace("positive_HASH", "positive_" + md5("area_m2 > 0")).replace(
        "columns_HASH", "columns_" + md5("id is not null and `from` is not null")
    )


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()[:8]  # noqa: S324  # as dbt names things


def test_constraints_are_reconciled() -> None:
    project = contracted()
    project.model.constraints = [check("a > 0"), check("b > 0")]
    project.properties = {
        f"delta.constraints.dbt_check_{md5('a > 0')}": "a > 0",
        "delta.constraints.dbt_check_01234567": "was declared once",
        "delta.constraints.somebody_elses": "c > 0",
        "delta.appendOnly": "true",
    }
    project.run("sedona__persist_constraints", "t", project.model)
    assert project.statements == [
        "alter table t drop constraint dbt_check_01234567",
        f"alter table t add constraint dbt_check_{md5('b > 0')} check (b > 0)",
    ]


def test_constraints_that_are_there_cost_no_statement() -> None:
    project = contracted()
    project.model.columns = {"id": column("id", NOT_NULL, check("id <> ''"))}
    expression = "id is not null and (id <> '')"
    project.properties = {f"delta.constraints.dbt_columns_{md5(expression)}": expression}
    project.run("sedona__persist_constraints", "t", project.model)
    assert project.statements == []


def test_without_a_contract_constraints_are_left_alone() -> None:
    project = Project(file_format="delta")
    project.model.constraints = [check("a > 0")]
    project.run("sedona__persist_constraints", "t", project.model)
    assert project.statements == []
