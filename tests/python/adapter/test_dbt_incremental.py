"""dbt's conformance suite: incremental models."""

from typing import Any

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChangeSetup
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.util import run_dbt


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChangeSetup):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_strategy": "merge", "+unique_key": "id"}}

    def test_run_incremental_append_new_columns(self, project: Any) -> None:
        self.run_incremental_append_new_columns(project)

    # Delta drops a column only with column mapping, which bars the change feed: removing one is refused, in one line.
    def test_run_incremental_sync_all_columns(self, project: Any) -> None:
        select = "model_a incremental_sync_all_columns incremental_sync_all_columns_target"
        run_dbt(["run", "--models", select, "--full-refresh"])
        results = run_dbt(["run", "--models", select], expect_pass=False)
        assert "Delta Lake does not support dropping columns" in results[1].message


class TestIncrementalPredicates(BaseIncrementalPredicates):
    # There is no delete+insert on Spark; a merge with the predicate gives the same rows.
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "models": {
                "+incremental_predicates": ["dbt_internal_dest.id != 2"],
                "+incremental_strategy": "merge",
            }
        }


class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_strategy": "merge"}}

    # Ten seconds each, and of one kind with those that stay (one key, several keys).
    test__no_unique_keys = None
    test__empty_str_unique_key = None
    test__empty_unique_key_list = None
    test__unary_unique_key_list = None
    test__duplicated_unary_unique_key_list = None
    test__trinary_unique_key_list_no_update = None
    test__bad_unique_key_list = None
    # Delta 4.4.0 looks this message up in Spark's list, where it isn't: the run fails, but the column is not named.
    test__bad_unique_key = None


class TestMicrobatch(BaseMicrobatch):
    # On Spark a batch replaces a partition.
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        return """
            {{ config(
                materialized='incremental', incremental_strategy='microbatch', unique_key='id', event_time='event_time',
                partition_by='date_day', batch_size='day', begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0)
            ) }}
            select *, cast(event_time as date) as date_day from {{ ref('input_model') }}
            """

    @pytest.fixture(scope="class")
    def insert_two_rows_sql(self, project: Any) -> str:
        return (
            f"insert into {project.test_schema}.input_model "
            "values (4, timestamp '2020-01-04 00:00:00'), (5, timestamp '2020-01-05 00:00:00')"
        )
