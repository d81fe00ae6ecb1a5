"""dbt's conformance suite: Python models."""

import pytest
from dbt.tests.adapter.python_model import test_spark
from dbt.tests.adapter.python_model.test_python_model import BasePythonModelTests
from dbt.tests.util import run_dbt

# Left out: BasePythonIncrementalTests, half a minute of what test_sedona_functions.py does in a tenth of it.


class TestPythonModelTests(BasePythonModelTests):
    pass


class TestPySparkTests:
    # Their class with koalas left out: it has been pandas-on-Spark since Spark 3.2.
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "pandas_df.py": test_spark.PANDAS_MODEL,
            "pyspark_df.py": test_spark.PYSPARK_MODEL,
            "pandas_on_spark_df.py": test_spark.PANDAS_ON_SPARK_MODEL,
        }

    def test_different_dataframes(self, project: object) -> None:
        assert len(run_dbt(["run"])) == 3
