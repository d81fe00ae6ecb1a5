"""dbt's conformance suite: contracts and constraints, as far as Delta has them."""

import pytest
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintsRollback,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseTableConstraintsColumnsEqual,
    BaseViewConstraintsColumnsEqual,
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
            ["cast(1 as decimal(10, 2))", "decimal", "decimal"],
            ["array('a', 'b')", "array<string>", "array<string>"],
            ["struct(1.5D as xmin, 2.5D as ymin)", "struct<xmin:double,ymin:double>", "struct"],
            ["unhex('00')", "binary", "binary"],
        ]


class TestTableConstraintsColumnsEqual(SparkTypes, BaseTableConstraintsColumnsEqual):
    pass


class TestViewConstraintsColumnsEqual(SparkTypes, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalConstraintsColumnsEqual(SparkTypes, BaseIncrementalConstraintsColumnsEqual):
    pass


class DeltaMessages:
    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "id is not null"]


class TestTableConstraintsRollback(DeltaMessages, BaseConstraintsRollback):
    pass


class TestIncrementalConstraintsRollback(DeltaMessages, BaseIncrementalConstraintsRollback):
    pass
