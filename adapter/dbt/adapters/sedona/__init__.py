"""dbt-sedona: dbt on open-source Spark with Delta Lake and Apache Sedona ready in the session."""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.sedona.connections import SedonaConnectionManager, SedonaCredentials
from dbt.adapters.sedona.impl import SedonaAdapter
from dbt.include import sedona

__all__ = ["Plugin", "SedonaAdapter", "SedonaConnectionManager", "SedonaCredentials"]

Plugin = AdapterPlugin(
    adapter=SedonaAdapter,
    credentials=SedonaCredentials,
    include_path=sedona.PACKAGE_PATH,
    # dbt-spark keeps doing the SQL: its macros are inherited, ours win where both exist.
    dependencies=["spark"],
)
