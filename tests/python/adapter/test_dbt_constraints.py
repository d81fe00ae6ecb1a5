"""dbt's conformance suite: contracts and constraints, as far as Delta has them."""

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintsRollback,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseTableConstraintsColumnsEqual,
    BaseViewConstraintsColumnsEqual,
)

# Left out: the classes that compare `create table (... constraints ...)` word for word (Delta refuses a column list in
# CREATE OR REPLACE TABLE AS SELECT; ours are table properties, tested in test_sedona_constraints.py), those on foreign and
# primary keys (open-source Delta has none), and those on a `sql_header` (dbt-spark's table statement has no place for it).

# Spark's names of the types, and only constraints that Delta enforces.
SCHEMA_YML = (
    fixtures.model_schema_yml.replace("data_type: text", "data_type: string")
    .replace("data_type: integer", "data_type: int")
    .replace("- type: primary_key", "- type: not_null")
    .replace("- type: unique", "- type: not_null")
)


class SparkTypes:
    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def schema_string_type(self) -> str:
        return "string"

    @pytest.fixture
    def schema_int_type(self) -> str:
        return "int"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        """SQL value, type in the contract, type in the error."""
        return [
            ["cast('2019-01-01' as date)", "date", "date"],
            ["true", "boolean", "boolean"],
            ["cast(1 as decimal(10, 2))", "decimal(10,2)", "decimal"],
            ["array('a', 'b')", "array<string>", "array<string>"],
            ["struct(1.5D as xmin, 2.5D as ymin)", "struct<xmin:double,ymin:double>", "struct"],
            ["unhex('00')", "binary", "binary"],
        ]


class TestTableConstraintsColumnsEqual(SparkTypes, BaseTableConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_wrong_name_sql,
            "constraints_schema.yml": SCHEMA_YML,
        }


class TestViewConstraintsColumnsEqual(SparkTypes, BaseViewConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_view_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_view_wrong_name_sql,
            "constraints_schema.yml": SCHEMA_YML,
        }


class TestIncrementalConstraintsColumnsEqual(SparkTypes, BaseIncrementalConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_incremental_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_incremental_wrong_name_sql,
            "constraints_schema.yml": SCHEMA_YML,
        }


class DeltaMessages:
    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "id IS NOT NULL"]


class TestTableConstraintsRollback(DeltaMessages, BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"my_model.sql": fixtures.my_model_sql, "constraints_schema.yml": SCHEMA_YML}


class TestIncrementalConstraintsRollback(DeltaMessages, BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"my_model.sql": fixtures.my_incremental_model_sql, "constraints_schema.yml": SCHEMA_YML}
