"""Whether a table needs its files laid out anew, from figures as Delta keeps them. No Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt.adapters.sedona.table_figures import TableFigures, of_sum

from geostrata.layout.declared import parse_layout
from geostrata.layout.judging import Work, judge
from geostrata.layout.ordering import Unordered, unordered

MB = 1 << 20
BINS = [0, MB, 2 * MB, 4 * MB, 8 * MB]


def table(*sizes: int, partitions: int = 0, is_listed: bool = True) -> TableFigures:
    """As of Delta's sum of a version: with its files, or only with how many there are of which size."""
    values = [{"day": str(number % partitions)} if partitions else {} for number in range(len(sizes))]
    bins = [[size for size in sizes if max(b for b in BINS if b <= size) == low] for low in BINS]
    found: dict[str, Any] = {
        "numFiles": len(sizes),
        "tableSizeBytes": sum(sizes),
        "fileSizeHistogram": {
            "sortedBinBoundaries": BINS,
            "fileCounts": [len(some) for some in bins],
            "totalBytes": [sum(some) for some in bins],
        },
        "metadata": {"partitionColumns": ["day"] if partitions else [], "schemaString": "{}"},
        "protocol": {},
    }
    if is_listed:
        pairs = zip(sizes, values, strict=True)
        found["allFiles"] = [{"size": size, "partitionValues": value} for size, value in pairs]
    return of_sum(3, found, lambda: partitions)


def never() -> Unordered:
    raise AssertionError("nobody should ask for the commits")


@pytest.mark.parametrize("is_listed", [True, False])
def test_small_files_are_counted_from_a_list_or_by_size(is_listed: bool) -> None:
    small = table(*[MB] * 5, *[3 * MB] * 2, is_listed=is_listed).smaller_than(2 * MB)
    assert (small.files, small.bytes) == (5, 5 * MB)


@pytest.mark.parametrize(
    ("layout", "sizes", "work"),
    [
        # The default wants files of 4 MB for so small a table; half of that is small.
        (None, [MB] * 8, "8 of its 8 files were smaller than 2.1 MB"),
        (None, [MB] * 7, None),
        (None, [MB] * 8 + [4 * MB] * 9, None),
        ({"small_file_share": 0.4}, [MB] * 8 + [4 * MB] * 9, "8 of its 17 files were smaller than 2.1 MB"),
        ({"min_files": 3}, [2 * MB - 1] * 3, None),
        ({"min_files": 3}, [MB // 2] * 3, "3 of its 3 files were smaller than 2.1 MB"),
        ("none", [MB] * 100, None),
        # The order of a table that fills fewer files than min_files is no matter.
        ({"zorder": ["h3"]}, [31 * MB], None),
    ],
)
def test_small_files_are_gathered_when_they_are_many(layout: Any, sizes: list[int], work: str | None) -> None:
    found = judge(parse_layout("parcels", layout), table(*sizes), never)
    assert found == (Work("gather", work, 4 * MB) if work else None)


def test_no_table_no_work() -> None:
    assert judge(parse_layout("parcels", {"zorder": ["h3"]}), table(), never) is None


def test_files_of_different_partitions_are_never_one() -> None:
    layout = parse_layout("parcels", None)
    assert judge(layout, table(*[MB] * 20, partitions=20), never) is None
    assert judge(layout, table(*[MB] * 40, partitions=20), never) is not None
    assert table(*[MB] * 40, partitions=20, is_listed=False).partitions == 20


@pytest.mark.parametrize(
    ("layout", "found", "work"),
    [
        (
            {"zorder": ["h3"]},
            Unordered(40 * MB),
            Work("zorder", "100% of its 41.9 MB lay in no order", 4 * MB),
        ),
        (
            {"zorder": ["h3"]},
            Unordered(12 * MB),
            Work("zorder", "30% of its 41.9 MB lay in no order", 4 * MB),
        ),
        ({"zorder": ["h3"]}, Unordered(11 * MB), None),
        (
            {"zorder": ["h3"], "unclustered_share": 0.2},
            Unordered(11 * MB),
            "28% of its 41.9 MB lay in no order",
        ),
        ({"cluster_by": ["h3"]}, Unordered(40 * MB), "100% of its 41.9 MB lay in no order"),
        ({"zorder": ["h3"]}, Unordered(40 * MB, ("id",)), "its files lay in the order of id"),
        (
            {"cluster_by": ["h3"]},
            Unordered(40 * MB, ("id",)),
            Work("cluster", "its files lay in the order of id", 4 * MB, is_full=True),
        ),
        (
            {"zorder": ["h3"], "target_file_size": "512kb"},
            Unordered(0),
            "its files were larger than 4 times 524.3 kB",
        ),
        # Clustering would not touch them.
        ({"cluster_by": ["h3"], "target_file_size": "512kb"}, Unordered(0), None),
    ],
)
def test_a_table_is_put_in_order_when_enough_of_it_is_not(
    layout: Any, found: Unordered, work: Work | str | None
) -> None:
    done = judge(parse_layout("parcels", layout), table(*[4 * MB] * 10), lambda: found)
    assert (done.why if done and isinstance(work, str) else done) == work


def commit(version: int, operation: str, adds: Any = (), removes: Any = (), **parameters: Any) -> Any:
    texts = {name: json.dumps(value) for name, value in parameters.items()}
    actions: list[dict[str, Any]] = [
        {"commitInfo": {"operation": operation, "operationParameters": texts}},
        *({"add": {"path": path, "size": size}} for path, size in dict(adds).items()),
        *({"remove": {"path": path}} for path in removes),
    ]
    return version, actions


ORDERED = commit(4, "OPTIMIZE", {"z": 50}, ["a", "b"], zOrderBy=["h3"], predicate=[])


@pytest.mark.parametrize(
    ("commits", "found"),
    [
        ([ORDERED], Unordered(0)),
        ([commit(5, "WRITE", {"c": 7}), ORDERED], Unordered(7)),
        # Removed again, or written again by a merge and a plain OPTIMIZE.
        ([commit(6, "DELETE", {}, ["c"]), commit(5, "WRITE", {"c": 7}), ORDERED], Unordered(0)),
        ([commit(6, "MERGE", {"d": 9}, ["c"]), commit(5, "WRITE", {"c": 7}), ORDERED], Unordered(9)),
        ([commit(6, "OPTIMIZE", {"e": 9}, ["c"], zOrderBy=[]), commit(5, "WRITE", {"c": 7})], Unordered(9)),
        # Statistics of a file that were written again are not a second file.
        ([commit(6, "COMPUTE STATS", {"c": 7}), commit(5, "WRITE", {"c": 7}), ORDERED], Unordered(7)),
        # Other columns: all of it.
        ([commit(5, "OPTIMIZE", {"z": 50}, clusterBy=["id"], zOrderBy=[])], Unordered(100, ("id",))),
        # Some partitions only.
        (
            [
                commit(6, "OPTIMIZE", {"y": 5}, ["c"], zOrderBy=["h3"], predicate=["day = 1"]),
                commit(5, "WRITE", {"c": 5, "d": 6}),
                ORDERED,
            ],
            Unordered(6),
        ),
        # Never put in order: from the beginning, or from the last replacement on.
        ([commit(1, "WRITE", {"b": 30}), commit(0, "CREATE TABLE AS SELECT", {"a": 70})], Unordered(100)),
        ([commit(9, "CREATE OR REPLACE TABLE AS SELECT", {"a": 100}, ["z"]), ORDERED], Unordered(100)),
        # The log begins later: what it does not tell counts as ordered.
        ([commit(9, "WRITE", {"b": 30})], Unordered(30)),
        ([], Unordered(0)),
    ],
)
def test_what_came_since_the_last_time_is_read_from_the_log(commits: Any, found: Unordered) -> None:
    assert unordered(iter(commits), ("h3",), 100) == found


def test_of_a_partitioned_table_only_what_needs_it_is_put_in_order() -> None:
    layout = parse_layout("parcels", {"zorder": ["h3"]})
    parted = table(*[4 * MB] * 10, partitions=5)
    found = Unordered(
        12 * MB, by_partition={'{"day": "2"}': 2 * MB, '{"day": "it\'s"}': 3 * MB, '{"day": null}': 8 * MB}
    )
    # A partition holds 8 MB on average.
    assert judge(layout, parted, lambda: found) == Work(
        "zorder",
        "2 of its 5 partitions lay in no order",
        4 * MB,
        where="(`day` = 'it\\'s') or (`day` is null)",
    )
    assert judge(layout, parted, lambda: Unordered(2 * MB, by_partition={'{"day": "2"}': 2 * MB})) is None
    whole = Unordered(40 * MB, by_partition={f'{{"day": "{day}"}}': 8 * MB for day in range(5)})
    done = judge(layout, parted, lambda: whole)
    assert done is not None
    assert done.where is None


def test_no_commit_is_read_beyond_the_one_that_settles_it() -> None:
    commits = iter([commit(5, "WRITE", {"c": 7}), ORDERED, commit(3, "WRITE", {"a": 1})])
    unordered(commits, ("h3",), 100)
    assert len(list(commits)) == 1
