"""Constraints of a contract: in the table from its first commit, enforced, and kept as declared."""

from __future__ import annotations

from typing import Any

import pytest

YML = r"""
models:
  - name: t
    config: {contract: {enforced: true}}
    constraints:
      - {type: check, name: Positive, expression: "n > CHECKED"}
    columns:
      - {name: id, data_type: int, constraints: [{type: not_null}]}
      - {name: n, data_type: int}
      - {name: name, data_type: string, constraints: [{type: check, expression: "name <> 'it\\'s'"}]}
"""


def declare(dbt: Any, least: int) -> None:
    dbt.write("models/t.yml", YML.replace("CHECKED", str(least)))


def constraints(dbt: Any) -> list[str]:
    properties = dbt.sql("show tblproperties {schema}.t")
    return sorted(value for name, value in properties if name.startswith("delta.constraints."))


@pytest.mark.parametrize("materialized", ["table", "incremental"])
def test_constraints(dbt: Any, materialized: str) -> None:
    config = "{{ config(materialized='" + materialized + "', on_schema_change='fail') }} "
    good = config + "select 1 as id, 5 as n, 'a' as name"
    dbt.write("models/t.sql", good)
    declare(dbt, 0)
    dbt.run("run")
    assert constraints(dbt) == [r"id is not null and (name <> 'it\'s')", "n > 0"]
    # Rows and constraints are one commit.
    assert len(dbt.history("t")) == 1

    rows, commits = dbt.sql("select * from {schema}.t"), len(dbt.history("t"))
    for broken in ("cast(null as int) as id, 5 as n, 'a' as name", "1 as id, 0 as n, 'a' as name"):
        dbt.write("models/t.sql", config + "select " + broken)
        message = dbt.messages("run")["t"]
        assert "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint dbt_" in message
        assert dbt.sql("select * from {schema}.t") == rows
        assert len(dbt.history("t")) == commits
    # Other writers are held to them too.
    with pytest.raises(Exception, match="DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"):
        dbt.sql("insert into {schema}.t values (1, 2, 'it\\'s')")

    dbt.write("models/t.sql", good)
    declare(dbt, 3)
    dbt.run("run")
    assert constraints(dbt) == [r"id is not null and (name <> 'it\'s')", "n > 3"]

    # Lost to somebody's ALTER; the next run puts it back.
    (name,) = [name for name, value in dbt.sql("show tblproperties {schema}.t") if value == "n > 3"]
    dbt.sql("alter table {schema}.t drop constraint " + name.removeprefix("delta.constraints."))
    dbt.run("run")
    assert constraints(dbt) == [r"id is not null and (name <> 'it\'s')", "n > 3"]


def test_rows_that_break_a_new_constraint(dbt: Any) -> None:
    """An incremental table that holds such rows already says so, and stays as it was."""
    dbt.write(
        "models/t.sql",
        "{{ config(materialized='incremental', on_schema_change='fail') }} select 1 as id, 5 as n, 'a' as name",
    )
    declare(dbt, 0)
    dbt.run("run")
    dbt.write(
        "models/t.sql",
        "{{ config(materialized='incremental', on_schema_change='fail') }} select 1 as id, 20 as n, 'a' as name",
    )
    declare(dbt, 10)
    assert "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION" in dbt.messages("run")["t"]
    assert "n > 10" not in constraints(dbt)
