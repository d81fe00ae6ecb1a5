"""dbt's conformance suite: snapshots beyond the basic ones of test_dbt_basic.py."""

from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot

# Left out: BaseSnapshotCheck and the classes on column names and hard deletes, each a minute of dbt's own macros, which
# neither dbt-spark nor this adapter changes.


class TestSimpleSnapshot(BaseSimpleSnapshot):
    # Inserts are part of every one of the others.
    test_inserts_are_captured_by_snapshot = None
    test_revives_are_captured_by_snapshot = None

    # Delta adds columns without a default.
    def add_fact_column(self, column: str = "", definition: str = "") -> None:
        super().add_fact_column(column, definition.removesuffix(" default null"))
