"""The same files landed by dbt: every row ends in silver or in quarantine, with a reason that a person understands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import shapely
from document import assert_is_in_the_document
from found_sources import PLACES, SHAPES, FoundProject
from lakehouse import Lakehouse
from outcomes import LOADED, Outcome

from geostrata import settings


@pytest.fixture(scope="module")
def landed(
    found: list[Outcome], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Lakehouse, dict[str, Outcome]]]:
    project = FoundProject(found)
    house = Lakehouse(tmp_path_factory.mktemp("the project"), tmp_path_factory.mktemp("the state"), 0)
    house.write_project(project.entities, project.write_models)
    placed = project.place(house.landing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(settings.STATE_VARIABLE, str(house.state))
        patch.chdir(house.project)
        house.dbt("seed")
        house.dbt("run")
        yield house, placed
        from dbt.adapters.sedona import session

        session.stop()


def test_as_many_rows_land_as_the_readers_found(landed: tuple[Lakehouse, dict[str, Outcome]]) -> None:
    house, placed = landed
    rows = landed_rows(house)
    assert rows.keys() == placed.keys()
    # A file without rows, or one that is refused, is one row that says so.
    expected = {path: one.rows or 1 for path, one in placed.items() if one.kind == LOADED}
    assert {path: rows[path] for path in expected} == expected


def test_every_row_is_accounted_for(landed: tuple[Lakehouse, dict[str, Outcome]]) -> None:
    house, _ = landed
    accounts = [house.account(entity) for entity in (SHAPES, PLACES)]
    for account in accounts:
        assert (account["missing"], account["counted_twice"], account["superseded"]) == (0, 0, 0)
        assert account["landed"] == account["accepted"] + account["quarantined"]
    assert sum(account["landed"] for account in accounts) == landed_rows(house).total()


def test_silver_holds_only_sound_shapes_in_degrees(landed: tuple[Lakehouse, dict[str, Outcome]]) -> None:
    house, _ = landed
    for entity in (SHAPES, PLACES):
        rows = house.rows(f"silver.{entity}")
        shapes = shapely.from_wkb([row["geometry"] for row in rows])
        assert shapely.is_valid(shapes).all()
        west, south, east, north = shapely.total_bounds(shapes)
        assert west >= -180 and south >= -90 and east <= 180 and north <= 90


def test_what_is_in_quarantine_says_why(landed: tuple[Lakehouse, dict[str, Outcome]]) -> None:
    house, placed = landed
    for row in quarantined(house):
        text = row["explanation"]
        assert text and "\n" not in text and "Traceback" not in text and "None" not in text, row
        # What is no GeoJSON is refused as a file, or each of its values as a feature.
        one = placed[row["_source_file"]]
        assert one.kind == LOADED or {"file_accepted", "record_readable"} & set(row["failed_expectations"])


def test_the_table_in_the_document_is_what_was_landed(
    landed: tuple[Lakehouse, dict[str, Outcome]],
) -> None:
    house, placed = landed
    files = Counter(one.package for one in placed.values())
    rows: Counter[str] = Counter()
    for path, count in landed_rows(house).items():
        rows[placed[path].package] += count
    silver: Counter[str] = Counter()
    for entity in (SHAPES, PLACES):
        silver.update(placed[row["_source_file"]].package for row in house.rows(f"silver.{entity}"))
    reasons: dict[str, Counter[str]] = {}
    for row in quarantined(house):
        package = placed[row["_source_file"]].package
        reasons.setdefault(package, Counter()).update(row["failed_expectations"])
    lines = [
        "| package | files and layers | rows landed | in silver | reasons in quarantine |",
        "| --- | --- | --- | --- | --- |",
    ]
    for package in [*sorted(files), "all"]:
        mine = [package] if package != "all" else list(files)
        counted = sum((reasons.get(name, Counter()) for name in mine), Counter())
        why = ", ".join(f"{number} {reason}" for reason, number in sorted(counted.items())) or "none"
        numbers = [str(sum(counts[name] for name in mine)) for counts in (files, rows, silver)]
        lines.append(f"| {package} | {' | '.join(numbers)} | {why} |")
    assert_is_in_the_document("third-party rows", "\n".join(lines) + "\n")


def landed_rows(house: Lakehouse) -> Counter[str]:
    """By file."""
    rows: Counter[str] = Counter()
    for entity in (SHAPES, PLACES):
        rows.update(row["_source_file"] for row in house.rows(f"silver.{entity}_checked"))
    return rows


def quarantined(house: Lakehouse) -> list[dict[str, Any]]:
    return [
        row
        for entity in (SHAPES, PLACES)
        for row in house.rows(f"silver.{entity}_checked")
        if row["failed_expectations"]
    ]
