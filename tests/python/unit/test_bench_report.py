"""The benchmark's report: ratios, targets, growth, and who answers otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.spatial import answers
from benchmarks.spatial.report import Findings, disagreements
from benchmarks.spatial.runner import Row

ROWS = [
    Row("zones", 2, "geostrata", 3.0, 5.0, 900, "same"),
    Row("zones", 2, "duckdb", 6.0, 11.0, 500, "same"),
    Row("zones", 2, "sedonadb", 4.0, 7.0, 300, "same"),
    Row("zones", 2, "sedona-naive", 40.0, 70.0, 3000, "same"),
    Row("zones-load", 2, "postgis", 1.0),
    Row("zones-stored", 2, "geostrata", 1.0, 2.0, 900, "same"),
    Row("zones-build", 2, "geostrata", 60.0),
]


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_ratios_are_to_the_best_peer_and_to_naive_sedona() -> None:
    table = lines(Findings(ROWS).table())
    assert ["zones", "2", "geostrata", "3.00", "5.0", "900", "0.75", "0.07"] in table
    assert ["zones", "2", "duckdb", "6.00", "11.0", "500", "1.50", "0.15"] in table


def test_what_is_kept_is_held_against_the_same_question() -> None:
    assert ["zones-stored", "2", "geostrata", "1.00", "2.0", "900", "0.25", "0.03"] in lines(
        Findings(ROWS).table()
    )


def test_steps_that_are_shown_apart_have_no_ratio_and_are_no_peer() -> None:
    findings = Findings(ROWS)
    assert ["zones-load", "2", "postgis", "1.00"] in lines(findings.table())
    best = findings.best_peer("zones", 2)
    assert best is not None
    assert best.engine == "sedonadb"


def test_targets_say_whether_they_are_reached() -> None:
    found = lines(Findings(ROWS).targets())
    assert ["zones-stored", "2", "best", "peer", "0.250", "1", "0.5", "yes"] in found
    assert ["zones-stored", "2", "sedona-naive", "0.025", "0.15", "yes"] in found
    assert ["zones", "2", "best", "peer", "0.750", "1.5", "1", "yes"] in found
    slow = [
        Row("nearest", 0.1, "geostrata", 9.0, 9.0, 1, "x"),
        Row("nearest", 0.1, "duckdb", 3.0, 3.0, 1, "x"),
    ]
    assert ["nearest", "0.1", "best", "peer", "3.000", "2", "1", "NO"] in lines(Findings(slow).targets())


def test_targets_of_joins_are_not_meant_for_few_points() -> None:
    few = [Row("zones", 0.5, engine, 1.0, 1.0, 1, "x") for engine in ("geostrata", "duckdb")]
    assert Findings(few).targets() == ""


def test_windows_are_held_against_the_bytes_of_other_layouts() -> None:
    sizes = {"bytes_read": 130, "ideal_bytes": 100, "plain_bytes": 1000}
    found = lines(Findings([Row("window", 2, "geostrata", 1.0, 1.0, 1, "x", sizes)]).targets())
    assert ["window", "2", "ideal_bytes", "1.300", "1.5", "1.1", "yes"] in found
    assert ["window", "2", "plain_bytes", "0.130", "0.1", "NO"] in found


def test_growth_is_told_by_a_million_points() -> None:
    rows = [Row("parcels", size, "geostrata", size * 2, 1.0, 100, "x") for size in (8, 0.5)]
    assert ["parcels", "2.00,", "2.00", "100,", "100"] in lines(Findings(rows).growth())
    assert Findings(rows[:1]).growth() == ""


def test_rows_that_others_disturbed_are_named() -> None:
    rows = [
        Row("zones", 2, name, 1.0, 1.0, 1, "x", {"others_cores": cores})
        for name, cores in (("duckdb", 0.1), ("postgis", 0.9))
    ]
    assert Findings(rows).disturbed().endswith("by so many cores: zones 2 postgis (0.9)")
    assert Findings(rows[:1]).disturbed() == ""


def test_the_few_are_told_apart_from_the_many() -> None:
    right, wrong = answers.rows([1, 2, 3]), answers.rows([1, 2])
    assert disagreements({"geostrata": right, "duckdb": right}) == []
    told = disagreements({"geostrata": wrong, "duckdb": right, "sedonadb": right})
    assert told == ["geostrata against duckdb, sedonadb: 3 rows and 2"]


def test_rows_have_the_keys_that_others_read() -> None:
    row = Row("window", 2, "geostrata", 1.0, 2.0, 3, "same", {"bytes_read": 4}).as_json()
    assert list(row) == ["case", "size", "engine", "wall_s", "cpu_s", "peak_mb", "answer", "bytes_read"]


def test_the_chart_is_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    Findings(ROWS).chart(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
