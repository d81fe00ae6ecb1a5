"""What a model's rows are made by."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.sedona.model_code import ModelCode, python_texts


def macro(name: str, text: str, package: str = "town", uses: tuple[str, ...] = ()) -> Any:
    unique_id = f"macro.{package}.{name}"
    depends_on = SimpleNamespace(macros=[f"macro.{package}.{used}" for used in uses])
    return SimpleNamespace(
        unique_id=unique_id, name=name, macro_sql=text, package_name=package, depends_on=depends_on
    )


class Model:
    def __init__(self, sql: str = "select 1", **config: Any) -> None:
        self.sql, self.config = sql, config
        self.macros: dict[str, Any] = {}

    def add(self, *macros: Any) -> Model:
        self.macros |= {one.unique_id: one for one in macros}
        return self

    @property
    def code(self) -> ModelCode:
        node = {"raw_code": self.sql, "config": self.config, "depends_on": {"macros": list(self.macros)}}
        return ModelCode(node, SimpleNamespace(macros=self.macros), ["dbt_sedona"])

    def digest(self, variables: dict[str, Any] | None = None, facts: Any = None) -> str:
        return self.code.digest(variables or {}, facts, [])


def test_what_decides_about_rows_changes_the_digest() -> None:
    plain = Model().digest()
    assert Model().digest() == plain
    assert Model("select 2").digest() != plain
    assert Model(unique_key="id").digest() != plain
    assert Model(tblproperties={"a": "b"}).digest() == plain, "properties are of the table, not of its rows"
    assert Model().digest(facts=["a rule"]) != plain
    assert Model().digest({"resolution": 9}) != Model().digest({"resolution": 8})


def test_macros_count_as_far_as_they_are_used() -> None:
    def digest(inner: str, other: str, package: str = "town") -> str:
        used = macro("outer", "{{ inner() }}", package, ("inner",))
        helpers = [macro("inner", inner, package), macro("other", other, package)]
        return Model("{{ outer() }}").add(used, *helpers).digest()

    assert digest("1", "x") == digest("1", "y"), "a hook's macro"
    assert digest("1", "x") != digest("2", "x")
    assert digest("1", "x", "dbt_sedona") == digest("2", "x", "dbt_sedona"), "an upgrade of the adapter"


def test_of_a_mapping_only_what_the_model_names_counts() -> None:
    model = Model("{{ newest('trees') }}")
    trees, zones = {"trees": 1, "zones": 1}, {"trees": 1, "zones": 2}
    assert model.digest({"entities": trees}) == model.digest({"entities": zones})
    assert model.digest({"entities": trees}) != model.digest({"entities": {"trees": 2}})


def test_variables_are_found_where_they_are_named() -> None:
    model = Model("{{ reach() }} {{ var('a') }}").add(macro("reach", '{{ var("b", 1) }} {{ var(name) }}'))
    assert model.code.variables == ["a", "b"]


def test_a_model_names_inputs_through_its_macros() -> None:
    assert not Model().code.names_inputs
    model = Model("{{ new_rows(x) }}").add(
        macro("new_rows", "{% do adapter.read_input(this, x) %}", "dbt_sedona")
    )
    assert model.code.names_inputs


def test_a_macro_says_that_rows_can_not_be_had_again() -> None:
    assert not Model().code.accumulates
    feed = macro("feed", "{% do adapter.accumulates() %}")
    assert Model("{{ feed() }}").add(feed).code.accumulates
    assert not Model("{{ feed() }}", incremental_strategy="merge").add(feed).code.accumulates


def test_python_counts_with_what_it_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "shapes_of_this_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "areas.py").write_text("from shapes_of_this_test import units\n")
    (package / "units.py").write_text("METRES = 1\n")
    (package / "unused.py").write_text("FEET = 2\n")
    macros = tmp_path / "macros.py"
    macros.write_text(
        "import json\nimport pyarrow\nfrom shapes_of_this_test.areas import area\n\ndef area_of(): ...\n"
    )
    found = python_texts([macros], {"area_of"})
    assert "METRES = 1\n" in found
    assert len(found) == 4, "the file, the package, two modules; neither json nor pyarrow"
    assert python_texts([macros], {"another"}) == []
