"""Seeds: one statement each, any text in a cell, unchanged ones left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Quotes, a backslash, a percent sign, a line break, a letter beyond ASCII, and empty cells.
PLACES = """id,name,area,opened
1,O'Hara,1.5,2024-05-01
2,"back\\slash, 100 % ""new"" one",,
3,"two
lines",2.25,2024-05-02
4,Übersee,,2024-05-03
"""
SEEDS = "seeds: {town: {+column_types: {id: bigint}}}\n"


def test_cells_arrive_as_they_are_and_once(dbt: Any) -> None:
    with (dbt.root / "dbt_project.yml").open("a") as project:
        project.write(SEEDS)
    dbt.write("seeds/places.csv", PLACES)
    dbt.run("seed")
    assert dbt.sql("select id, name, area, cast(opened as string) from {schema}.places order by id") == [
        (1, "O'Hara", 1.5, "2024-05-01"),
        (2, 'back\\slash, 100 % "new" one', None, None),
        (3, "two\nlines", 2.25, "2024-05-02"),
        (4, "Übersee", None, "2024-05-03"),
    ]
    assert len(dbt.history("places")) == 1

    dbt.run("seed")
    assert len(dbt.history("places")) == 1, "unchanged: left alone"
    dbt.write("seeds/places.csv", PLACES + "5,new,,\n")
    dbt.run("seed")
    assert dbt.sql("select count(*) from {schema}.places") == [(5,)]
    assert len(dbt.history("places")) == 2
    dbt.write("seeds/places.csv", PLACES.splitlines()[0] + "\n")
    dbt.run("seed")
    assert dbt.sql("select count(*) from {schema}.places") == [(0,)]


def test_a_folder_that_a_killed_run_left_is_taken_over(dbt: Any) -> None:
    """Killed between Delta's commit and the metastore's entry: files are there, the table is not."""
    with (dbt.root / "dbt_project.yml").open("a") as project:
        project.write(SEEDS)
    dbt.write("seeds/places.csv", PLACES)
    dbt.run("seed")
    detail = dbt.spark.sql(f"describe detail {dbt.schema}.places").first()
    folder = Path(detail["location"].removeprefix("file:"))
    aside = folder.with_name("aside")
    folder.rename(aside)
    dbt.sql("drop table {schema}.places")
    aside.rename(folder)
    dbt.run("seed")
    assert dbt.sql("select count(*) from {schema}.places") == [(4,)]
