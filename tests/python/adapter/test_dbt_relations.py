"""dbt's conformance suite: names, the relation cache, relation types, concurrency, persisted docs."""

import pytest
from dbt.tests.adapter.aliases.test_aliases import BaseAliases, BaseSameAliasDifferentSchemas
from dbt.tests.adapter.ephemeral.test_ephemeral import BaseEphemeralErrorHandling
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsCommentOnQuotedColumn,
)
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator

# Left out: BaseConcurrency, BaseEphemeralMulti and the hook classes prepare their tables with another database's SQL
# (quoted names, TEXT columns); two threads, ephemeral models and hooks are in test_dbt_basic.py and test_sedona_functions.py.
# The caching classes compare the databases of relations, and Spark's have none.
# BaseClone: not tried yet. Grants: open-source Spark has none.


class SparkText:
    """The test of their aliases casts to `text`."""

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {
            "cast.sql": "{% macro string_literal(s) %} cast('{{ s }}' as string) {% endmacro %}",
            "expect_value.sql": """
                {% test expect_value(model, field, value) %}
                select * from {{ model }} where {{ field }} != '{{ value }}'
                {% endtest %}
            """,
        }


class TestAliases(SparkText, BaseAliases):
    pass


class TestSameAliasDifferentSchemas(SparkText, BaseSameAliasDifferentSchemas):
    pass


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass


class TestPersistDocs(BasePersistDocs):
    pass


class TestPersistDocsCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    # Spark quotes with backticks, which need no help of `adapter.quote` here.
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"quote_model.sql": "select 1 as {{ adapter.quote('2id') }}"}


class TestChangeRelationTypes(BaseChangeRelationTypeValidator):
    pass
