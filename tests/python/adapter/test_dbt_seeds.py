"""dbt's conformance suite: seeds."""

from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseSeedWithUniqueDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride

# Left out: the classes that load 500 rows to compare them with a table made by another database's SQL (seeds are compared
# throughout test_dbt_basic.py), and those in which a full refresh of a seed takes the views on it away: Spark keeps them.


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedWithUniqueDelimiter(BaseSeedWithUniqueDelimiter):
    # Compares with a table made by another database's SQL; here the seed is loaded, no more.
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self) -> None:
        pass

    def test_seed_with_unique_delimiter(self, project: Any) -> None:
        from dbt.tests.util import run_dbt

        assert len(run_dbt(["seed"])) == 1


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(BaseSimpleSeedColumnOverride):
    # Spark's names of the types.
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        yml = fixtures.properties__schema_yml
        for theirs, ours in (
            ("character varying(255)", "string"),
            ("timestamp without time zone", "timestamp"),
            ("text", "string"),
            ("integer", "bigint"),
        ):
            yml = yml.replace(f"type: {theirs}", f"type: {ours}")
        return {"schema.yml": yml}

    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        return dict.fromkeys(("seed_id_str", "looks_like_a_bool", "looks_like_a_date"), "string")
