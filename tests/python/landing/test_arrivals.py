"""Files that come late, twice, cut, in any order: silver ends in one and the same state, and every row has a place."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from lakehouse import Lakehouse

HEADER = "sign_id,label,height_m,is_deleted,updated_at,geometry\n"
# Of one time for all: which version wins must never depend on when a file was written or loaded.
LONG_AGO = 1_700_000_000


def sign(
    key: str, label: str, day: int = 1, place: str = "POINT (15.5 48)", deleted: str = "", height: str = "3"
) -> str:
    return f'{key},{label},{height},{deleted},2026-01-{day:02}T00:00:00Z,"{place}"\n'


def write(lakehouse: Lakehouse, name: str, *lines: str, at: int = LONG_AGO, header: str = HEADER) -> Path:
    path = lakehouse.landing / "signs" / name
    path.write_text(header + "".join(lines))
    os.utime(path, (at, at))
    return path


def silver(lakehouse: Lakehouse) -> dict[str, str]:
    return {row["sign_id"]: row["label"] for row in lakehouse.rows("silver.signs")}


def balanced(lakehouse: Lakehouse, entity: str = "signs") -> dict[str, int]:
    account = lakehouse.account(entity)
    placed = account["accepted"] + account["quarantined"] + account["superseded"]
    assert (account["missing"], account["counted_twice"], account["landed"]) == (0, 0, placed)
    return account


@pytest.fixture(autouse=True)
def empty(lakehouse: Lakehouse) -> None:
    lakehouse.forget("signs")


DROPS = {
    "a.csv": [sign("1", "first", 1), sign("2", "two", 1), sign("2", "twice in a file", 1), sign("9", "bad", 1, "POINT (x)")],
    "b.csv": [sign("1", "second", 2), sign("3", "three", 1), sign("4", "four", 1)],
    "c.csv": [sign("3", "", 2, deleted="true"), sign("1", "late", 1), sign("4", "of the same day", 1)],
    "d.csv": [sign("4", "four again", 1), sign("5", "gone and back", 3), sign("", "no key", 1)],
    "e.csv": [sign("5", "", 2, deleted="true"), sign("9", "good", 2)],
}  # fmt: skip
IN_THE_END = {
    "1": "second",
    "2": "twice in a file",
    "4": "four again",
    "5": "gone and back",
    "9": "good",
}


@pytest.mark.parametrize("seed", range(int(os.environ.get("SHUFFLES", "1"))))
def test_whatever_the_order_of_arrival(lakehouse: Lakehouse, seed: int) -> None:
    chance = random.Random(seed)
    names = list(DROPS)
    chance.shuffle(names)
    while names:
        for name in names[: chance.randint(1, 3)]:
            write(lakehouse, name, *DROPS[name])
            names.remove(name)
        lakehouse.land("signs")
    # Once more, with nothing new.
    lakehouse.land("signs")
    assert silver(lakehouse) == IN_THE_END
    account = balanced(lakehouse)
    assert (account["landed"], account["quarantined"]) == (15, 2)


def test_a_file_that_is_delivered_again_takes_the_place_of_what_it_was(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "old"), sign("2", "dropped later"), sign("3", "bad", place="?"))
    write(lakehouse, "b.csv", sign("2", "older version elsewhere", day=1), sign("4", "four"))
    lakehouse.land("signs")
    # Of equal age: the file that comes last in the alphabet.
    assert silver(lakehouse) == {"1": "old", "2": "older version elsewhere", "4": "four"}
    write(lakehouse, "b.csv", sign("4", "four corrected"), at=LONG_AGO + 60)
    write(lakehouse, "a.csv", sign("1", "corrected"), sign("3", "good now"), at=LONG_AGO + 60)
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "corrected", "3": "good now", "4": "four corrected"}
    account = balanced(lakehouse)
    assert account == {**account, "landed": 8, "accepted": 3, "quarantined": 0, "superseded": 5}


def test_what_is_not_all_there_waits_and_the_rest_is_loaded(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "one"))
    (lakehouse.landing / "signs" / "b.csv.zip").write_bytes(zipped(HEADER + sign("2", "two"))[:-30])
    (lakehouse.landing / "signs" / "c.csv").write_text("")
    said = lakehouse.told("run", "--select", "+signs")
    assert "landing.signs: left: " in said and "b.csv.zip: " in said
    assert silver(lakehouse) == {"1": "one"}
    (refused,) = lakehouse.quarantine("signs")
    assert refused["reasons"] == ["file_accepted"]
    assert refused["explanation"] == "it is empty"
    assert refused["_source_position"] == "file"
    # It is told of again as long as it is there, though nothing else has changed.
    assert "b.csv.zip: " in lakehouse.told("run", "--select", "+signs")
    (lakehouse.landing / "signs" / "b.csv.zip").write_bytes(zipped(HEADER + sign("2", "two")))
    lakehouse.land("signs")
    assert silver(lakehouse) == {"1": "one", "2": "two"}
    balanced(lakehouse)


def zipped(text: str) -> bytes:
    import io
    import zipfile

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("signs.csv", text)
    return content.getvalue()


def test_a_capped_run_goes_on_where_it_stopped(lakehouse: Lakehouse) -> None:
    for number in range(5):
        write(lakehouse, f"{number}.csv", sign(str(number), "x"), at=LONG_AGO + number)
    lakehouse.declare("signs", max_files=2)
    try:
        said = lakehouse.told("run", "--select", "+signs")
        assert "landing.signs: 2 files are loaded now, 3 are left for the next run" in said
        assert sorted(silver(lakehouse)) == ["0", "1"]
        lakehouse.land("signs")
        assert sorted(silver(lakehouse)) == ["0", "1", "2", "3"]
        lakehouse.land("signs")
        assert sorted(silver(lakehouse)) == ["0", "1", "2", "3", "4"]
    finally:
        lakehouse.declare("signs", max_files=None)
    balanced(lakehouse)


def test_a_folder_that_is_gone_is_told_and_stops_nothing(lakehouse: Lakehouse) -> None:
    write(lakehouse, "a.csv", sign("1", "one"))
    lakehouse.land("signs")
    folder = lakehouse.landing / "signs"
    folder.rename(folder.with_name("elsewhere"))
    try:
        said = lakehouse.told("run", "--select", "+signs")
        assert f"landing.signs: there is no folder {folder}, nothing to load" in said
        assert silver(lakehouse) == {"1": "one"}
    finally:
        folder.with_name("elsewhere").rename(folder)


def test_new_columns_are_refused_rescued_or_let_in(lakehouse: Lakehouse) -> None:
    longer = HEADER.replace("geometry", "owner,geometry")
    line = sign("1", "one").replace('"POINT', 'Ann,"POINT')

    def load(policy: str, name: str) -> None:
        lakehouse.declare("signs", schema_policy=policy)
        write(lakehouse, name, line, header=longer)
        lakehouse.land("signs")

    load("strict", "a.csv")
    (refused,) = lakehouse.quarantine("signs")
    assert refused["explanation"].startswith("column owner is new")
    load("rescue", "b.csv")
    (kept,) = [row for row in lakehouse.rows("bronze.raw_signs") if row["sign_id"] == "1"]
    assert kept["_rescued"] == '{"owner":"Ann"}'
    assert "owner" not in kept
    load("additive", "c.csv")
    (grown,) = [row for row in lakehouse.rows("bronze.raw_signs") if row["_source_file"].endswith("c.csv")]
    assert (grown["owner"], grown["_rescued"]) == ("Ann", None)
    # A file without it is no worse for that; a declared column must be there.
    write(lakehouse, "d.csv", sign("2", "two"))
    write(lakehouse, "e.csv", "3,three\n", header="sign_id,label\n")
    lakehouse.land("signs")
    found = {row["sign_id"]: row for row in lakehouse.rows("bronze.raw_signs") if row["sign_id"]}
    assert found["2"]["owner"] is None
    problems = {Path(row["_source_file"]).name: row["explanation"] for row in lakehouse.quarantine("signs")}
    assert problems["e.csv"].startswith("column height_m is missing")
    lakehouse.declare("signs", schema_policy="rescue")
    balanced(lakehouse)


def test_a_snapshot_takes_out_what_it_lacks(lakehouse: Lakehouse) -> None:
    lakehouse.forget("stops")
    # The ledger looks at all entities.
    lakehouse.land("signs")

    def snapshot(name: str, at: int, *lines: str) -> None:
        path = lakehouse.landing / "stops" / name
        path.write_text("stop_id,lon,lat\n" + "".join(lines))
        os.utime(path, (at, at))

    def stops() -> dict[str, float]:
        return {row["stop_id"]: row["bbox"]["xmin"] for row in lakehouse.rows("silver.stops")}

    snapshot("monday.csv", LONG_AGO, "a,15,48\n", "b,15.1,48\n", "x,999,48\n")
    lakehouse.land("stops")
    assert stops() == {"a": 15, "b": 15.1}
    snapshot("wednesday.csv", LONG_AGO + 200, "b,15.3,48\n", "c,15.4,48\n")
    lakehouse.land("stops")
    assert stops() == {"b": 15.3, "c": 15.4}
    # One from between the two comes late: it changes nothing.
    snapshot("tuesday.csv", LONG_AGO + 100, "a,15.5,48\n", "b,15.6,48\n")
    lakehouse.land("stops")
    assert stops() == {"b": 15.3, "c": 15.4}
    account: Any = balanced(lakehouse, "stops")
    assert (account["accepted"], account["superseded"], account["quarantined"]) == (2, 5, 0)
