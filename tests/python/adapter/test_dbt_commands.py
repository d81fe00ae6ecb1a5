"""dbt's conformance suite: show, debug, query comments, the --empty flag, stored failures."""

from dbt.tests.adapter.dbt_debug.test_dbt_debug import BaseDebugPostgres
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit,
    BaseShowLimit,
    BaseShowSqlHeader,
)
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty
from dbt.tests.adapter.query_comment.test_query_comment import (
    BaseEmptyQueryComments,
    BaseMacroArgsQueryComments,
    BaseMacroInvalidQueryComments,
    BaseMacroQueryComments,
    BaseNullQueryComments,
    BaseQueryComments,
)
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import BaseStoreTestFailuresLimit

# Left out: BaseStoreTestFailures, a minute of tests that are stored twice; it passed, and the class with the limit stays.


class TestShowLimit(BaseShowLimit):
    pass


class TestShowSqlHeader(BaseShowSqlHeader):
    pass


class TestShowDoesNotHandleDoubleLimit(BaseShowDoesNotHandleDoubleLimit):
    # Spark's words for it.
    DATABASE_ERROR_MESSAGE = "[PARSE_SYNTAX_ERROR] Syntax error at or near 'limit'"


class TestDebug(BaseDebugPostgres):
    pass


class TestQueryComments(BaseQueryComments):
    pass


class TestMacroQueryComments(BaseMacroQueryComments):
    pass


class TestMacroArgsQueryComments(BaseMacroArgsQueryComments):
    pass


class TestMacroInvalidQueryComments(BaseMacroInvalidQueryComments):
    pass


class TestNullQueryComments(BaseNullQueryComments):
    pass


class TestEmptyQueryComments(BaseEmptyQueryComments):
    pass


class TestEmpty(BaseTestEmpty):
    pass


class TestStoreTestFailuresLimit(BaseStoreTestFailuresLimit):
    pass
