"""Expectations that warn, put aside and stop; repair; and the way out of quarantine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import shapely
from lakehouse import Lakehouse
from test_arrivals import LONG_AGO, balanced, sign, silver, write

BOW_TIE = "POLYGON ((15 48, 15.2 48.2, 15.2 48, 15 48.2, 15 48))"
# A square of 0.1 degrees with a needle that crosses itself: repaired, it loses next to nothing.
NEEDLE = "POLYGON ((15 48, 15.1 48, 15.1 48.1, 15.05 48.1, 15.0501 48.2, 15.0499 48.2, 15.0502 48.1, 15 48.1, 15 48))"


@pytest.fixture(autouse=True)
def empty(lakehouse: Lakehouse) -> None:
    lakehouse.forget("signs")


def reasons(lakehouse: Lakehouse) -> dict[str, Any]:
    return {row["entity_key"]: row for row in lakehouse.quarantine("signs")}


def test_every_refused_row_says_why_and_where(lakehouse: Lakehouse) -> None:
    path = write(
        lakehouse,
        "a.csv",
        sign("bow", "tie", place=BOW_TIE),
        sign("needle", "mended", place=NEEDLE),
        sign("far", "away", place="POINT (2 3)"),
        sign("off", "globe", place="POINT (200 48)"),
        sign("torn", "text", place="POLYGON ((1 1, 2"),
        sign("line", "type", place="LINESTRING (15 48, 16 48)"),
        sign("tall", "no height", height=""),
    )
    lakehouse.land("signs")
    found = reasons(lakehouse)
    assert {key: row["reasons"] for key, row in found.items()} == {
        "bow": ["geometry_valid"],
        "far": ["within_extent"],
        "off": ["coordinates_within_crs"],
        "torn": ["geometry_readable"],
        "line": ["geometry_type_allowed"],
    }
    assert found["bow"]["explanation"] == (
        "repaired: Self-intersection at 15.1 48.1, which changed its area by 100.0 %"
    )
    assert found["far"]["explanation"] == "at 2.0 3.0, outside the extent town"
    assert "200" in found["off"]["explanation"]
    assert found["line"]["explanation"] == "a LineString, allowed are Point, Polygon, MultiPolygon"
    assert found["torn"]["landed_value"] == "POLYGON ((1 1, 2"
    assert {row["_source_file"] for row in found.values()} == {str(path)}
    assert found["off"]["_source_position"] == "line 5"
    rows = {row["sign_id"]: row for row in lakehouse.rows("silver.signs")}
    assert rows.keys() == {"needle", "tall"}
    assert rows["needle"]["is_repaired"] is True
    assert shapely.from_wkb(rows["needle"]["geometry"]).is_valid
    # Bronze keeps what landed.
    (landed,) = [row for row in lakehouse.rows("bronze.raw_signs") if row["sign_id"] == "needle"]
    assert landed["geometry"] == NEEDLE
    results = {
        row["expectation"]: row
        for row in lakehouse.query("select * from {{ ref('expectation_results') }} where entity = 'signs'")
    }
    assert {int(row["seen_rows"]) for row in results.values()} == {7}
    assert all(float(row["seconds"]) > 0 for row in results.values())
    failed = {name: int(row["failed_rows"]) for name, row in results.items() if int(row["failed_rows"])}
    assert failed == {
        "geometry_valid": 1,
        "within_extent": 1,
        "coordinates_within_crs": 1,
        "geometry_readable": 1,
        "geometry_type_allowed": 1,
        "height_given": 1,
    }
    assert results["height_sane"]["on_violation"] == "fail"
    balanced(lakehouse)


def test_fail_stops_before_anything_is_written(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    path = write(lakehouse, "b.csv", sign("2", "two"), sign("3", "three", height="500"))
    message = lakehouse.dbt_fails("run", "--select", "+signs")
    assert f"signs_checked: expectation height_sane failed for {path}, line 3" in message
    assert "\n" not in message
    assert silver(lakehouse) == {"1": "one"}
    assert len(lakehouse.rows("silver.signs_checked")) == 1
    # The way out: the file, mended.
    write(lakehouse, "b.csv", sign("2", "two"), sign("3", "three", height="50"), at=LONG_AGO + 60)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "one", "2": "two", "3": "three"}
    assert balanced(lakehouse)["superseded"] == 2


def test_a_row_leaves_quarantine_when_the_rule_was_mended(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "one"), sign("2", "abroad", place="POINT (2 48)"))
    write(
        lakehouse, "b.csv", sign("3", "torn", place="POINT (2"), sign("4", "farther", place="POINT (99 48)")
    )
    lakehouse.land("signs")
    ask = ("run-operation", "release_quarantine", "--args")
    said = lakehouse.told(*ask, "{entity: signs, reason: within_extent}")
    assert "signs: 2 rows are quarantined for within_extent" in said
    assert "Nothing was changed." in said
    lakehouse.land("signs")
    assert sorted(reasons(lakehouse)) == ["2", "3", "4"]

    extents = lakehouse.project / "seeds/extents.csv"
    before = extents.read_text()
    extents.write_text(before.replace("town,14,", "town,0,"))
    try:
        lakehouse.dbt("seed")
        assert "They are judged again by the next build" in lakehouse.told(
            *ask, "{entity: signs, reason: within_extent, dry_run: false}"
        )
        balanced(lakehouse)
        lakehouse.land("signs")
        assert silver(lakehouse) == {"1": "one", "2": "abroad"}
        assert sorted(reasons(lakehouse)) == ["3", "4"]
        account = balanced(lakehouse)
        assert (account["landed"], account["accepted"], account["quarantined"]) == (4, 2, 2)
        # Asked once, judged once.
        versions = len(list(_log(lakehouse).glob("*.json")))
        lakehouse.land("signs")
        assert len(list(_log(lakehouse).glob("*.json"))) == versions
    finally:
        extents.write_text(before)
        lakehouse.dbt("seed")


def _log(lakehouse: Lakehouse) -> Path:
    return lakehouse.state / "warehouse/silver.db/signs_checked/_delta_log"


def test_a_slip_in_a_release_is_told(lakehouse: Lakehouse, capfd: pytest.CaptureFixture[str]) -> None:
    lakehouse.land("signs")
    ask = ("run-operation", "release_quarantine", "--args")
    assert "Reasons there are: none" in lakehouse.told(*ask, "{entity: signs, reason: no_such}")
    lakehouse.dbt_fails(*ask, "{entity: sings, reason: x}")
    assert "entity sings is not among the variable `entities`" in capfd.readouterr().out
