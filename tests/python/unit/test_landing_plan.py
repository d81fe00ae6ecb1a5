"""Which files are listed, chosen and left."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from geostrata.errors import GeostrataError
from geostrata.landing.declaration import Declaration
from geostrata.landing.deliveries import Delivery, Known
from geostrata.landing.listing import is_of, list_files
from geostrata.landing.outcomes import LEFT, REFUSED, SOUND, Outcome
from geostrata.landing.planning import all_again, new_deliveries, without_left
from geostrata.readers import LandedFile


def declared(location: Path | str = "/landing", file_format: str = "csv", **external: object) -> Declaration:
    return Declaration.of(
        "landing.trees", str(location), {"file_format": file_format, **external}, {"tree_id": "string"}
    )


def files(*names: str) -> list[LandedFile]:
    """Each a second younger and a byte larger than the one before."""
    return [LandedFile(f"/landing/{name}", 100 + at, 1000 * at) for at, name in enumerate(names)]


def names(found: list[LandedFile] | None) -> list[str]:
    return [Path(file.path).name for file in found or []]


def test_hidden_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    for name in ("b.csv", "2026/a.csv", "_tmp/c.csv", ".d.csv", "2026/_e.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("tree_id\n1\n")
    assert names(list_files(declared(tmp_path))) == ["a.csv", "b.csv"]


def test_a_file_is_listed_with_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a b.csv"
    path.write_text("tree_id\n1\n")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    assert list_files(declared(tmp_path)) == [LandedFile(str(path), 10, 1_700_000_000_123)]


def test_a_folder_that_is_not_there_differs_from_an_empty_one(tmp_path: Path) -> None:
    assert list_files(declared(tmp_path / "gone")) is None
    assert list_files(declared(tmp_path)) == []


def test_a_pattern_speaks_of_the_path_below_the_folder(tmp_path: Path) -> None:
    for name in ("a.csv", "a.txt", "old/b.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("tree_id\n")
    assert names(list_files(declared(tmp_path, pattern="*.csv"))) == ["a.csv", "b.csv"]
    assert names(list_files(declared(tmp_path, pattern="old/*"))) == ["b.csv"]


def test_a_shapefile_is_one_file_and_as_new_as_its_newest_part(tmp_path: Path) -> None:
    for at, name in enumerate(("roads.shp", "roads.shx", "roads.dbf", "parks.zip")):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (at, at))
    found = list_files(declared(tmp_path, "shapefile"))
    assert names(found) == ["parks.zip", "roads.shp"]
    assert [file.modified_ms for file in found or []] == [3000, 2000]


def known(*listing: LandedFile, loaded_ms: int = 0) -> Known:
    return Known(Delivery(file, at, None, loaded_ms) for at, file in enumerate(listing, start=1))


def test_files_are_known_by_path_time_and_size() -> None:
    listing = files("a.csv", "b.csv", "c.csv", "d.csv")
    loaded = [listing[0], replace(listing[1], modified_ms=999), replace(listing[2], size=1)]
    plan = new_deliveries(declared(), listing, known(*loaded))
    assert names(plan.files) == ["b.csv", "c.csv", "d.csv"]
    assert [one.number for one in plan.deliveries] == [4, 5, 6]
    assert plan.is_settled
    assert plan.messages == []


def test_a_file_is_what_its_last_delivery_was() -> None:
    (now,) = files("a.csv")
    other = replace(now, modified_ms=5)
    assert names(new_deliveries(declared(), [now], known(now, other)).files) == ["a.csv"]
    assert new_deliveries(declared(), [now], known(now, other, now)).files == []


def test_content_is_looked_at_only_where_something_was_done_to_the_file_since() -> None:
    (file,) = files("a.csv")
    minute = 60_000
    for changed_ms, compared_ms, is_doubtful in (
        (10 * minute, 0, False),
        (20 * minute, 0, True),
        (20 * minute, 30 * minute, False),
        (19 * minute, 0, True),  # as clocks go
    ):
        seen = replace(file, changed_ms=changed_ms)
        loaded = known(file, loaded_ms=20 * minute)
        assert loaded.is_doubtful(file.path, seen, compared_ms) is is_doubtful
        assert not loaded.is_doubtful(file.path, replace(seen, size=1), compared_ms), "size tells"


def test_content_that_was_never_hashed_is_no_other_content() -> None:
    def loaded(fingerprint: str) -> Known:
        return Known([Delivery.recorded("a.csv", 1, 5, fingerprint, 9, False)])

    assert loaded("7-aa").has_other_content("a.csv", "7-bb")
    assert not loaded("7-aa").has_other_content("a.csv", "7-aa")
    assert not loaded("7-aa").has_other_content("a.csv", None), "it can't be read now"
    assert not loaded("0-").has_other_content("a.csv", "0-bb"), "as of an empty file"
    assert not loaded("7-aa").has_other_content("b.csv", "7-bb")


def test_a_full_refresh_keeps_the_order_in_which_files_were_seen() -> None:
    first, second, new = files("a.csv", "b.csv", "c.csv")
    plan = all_again(declared(), [first, second, new], known(second, first, second))
    assert [(Path(one.file.path).name, one.number) for one in plan.deliveries] == [
        ("a.csv", 2),
        ("b.csv", 3),
        ("c.csv", 4),
    ]


def test_a_full_refresh_names_the_files_that_it_would_lose() -> None:
    gone, here = files("a.csv", "b.csv")
    with pytest.raises(GeostrataError, match=r"lose the rows of 1 files .*: /landing/a\.csv\."):
        all_again(declared(), [here], known(gone, here))
    assert names(all_again(declared(), [here], known(gone, here), may_drop_missing=True).files) == ["b.csv"]


def test_a_source_knows_its_own_files_in_a_table_of_several() -> None:
    layer = declared(options={"layer": "roads"}, file_format="geopackage")
    assert is_of(layer, "/landing/x.gpkg|layername=roads")
    assert not is_of(layer, "/landing/x.gpkg|layername=rivers")
    assert not is_of(layer, "/landing/x.gpkg")
    assert is_of(declared(pattern="*.csv"), "/landing/2026/x.csv")
    assert not is_of(declared(pattern="*.csv"), "/landing/x.txt")
    assert not is_of(declared(), "/landing2/x.csv")


def test_the_oldest_come_first() -> None:
    assert names(new_deliveries(declared(), files("b.csv", "a.csv"), known()).files) == ["b.csv", "a.csv"]


@pytest.mark.parametrize(
    ("limit", "chosen"),
    [({"max_files": 2}, 2), ({"max_bytes": 201}, 2), ({"max_bytes": "0.3 kB"}, 2), ({"max_bytes": 1}, 1)],
)
def test_a_run_is_capped_and_says_so(limit: dict[str, object], chosen: int) -> None:
    plan = new_deliveries(declared(**limit), files("a.csv", "b.csv", "c.csv"), known())
    assert len(plan.files) == chosen
    assert not plan.is_settled
    assert plan.messages == [
        f"landing.trees: {chosen} files are loaded now, {3 - chosen} are left for the next run (max_files, max_bytes)"
    ]


def test_a_cap_that_is_not_reached_says_nothing() -> None:
    plan = new_deliveries(declared(max_files=3), files("a.csv", "b.csv", "c.csv"), known())
    assert (len(plan.files), plan.is_settled, plan.messages) == (3, True, [])


def test_what_is_not_all_there_is_left_and_told() -> None:
    chosen = new_deliveries(declared(), files("a.csv", "b.csv", "c.csv"), known())
    plan = without_left(
        declared(),
        chosen,
        {
            "/landing/a.csv": Outcome(SOUND),
            "/landing/b.csv": Outcome(LEFT, "cut short"),
            "/landing/c.csv": Outcome(REFUSED, "column x is missing"),
        },
    )
    assert names(plan.files) == ["a.csv", "c.csv"]
    assert not plan.is_settled
    assert plan.messages == [
        "landing.trees: left: /landing/b.csv: cut short",
        "landing.trees: refused, see quarantine: /landing/c.csv: column x is missing",
    ]


def test_many_messages_become_a_number() -> None:
    chosen = new_deliveries(declared(), files(*(f"{at}.csv" for at in range(100))), known())
    plan = without_left(declared(), chosen, {file.path: Outcome(LEFT, "cut") for file in chosen.files})
    assert len(plan.messages) == 6
    assert plan.messages[-1] == "landing.trees: left: 95 more files"
    assert plan.files == []


@pytest.mark.parametrize(
    ("external", "words"),
    [
        ({"file_format": "cvs"}, "source landing.trees: format must be one of csv,"),
        ({"file_format": "csv", "schema_polcy": "strict"}, "external.schema_polcy is unknown: did you mean schema_policy?"),
        ({"file_format": "csv", "schema_policy": "lax"}, "schema_policy must be one of strict, additive, rescue, got 'lax'"),
        ({"file_format": "csv", "max_files": 0}, "max_files must be a whole number over 0, got 0"),
        ({"file_format": "csv", "max_bytes": "2 parsecs"}, "max_bytes must be a size such as 500000 or 2 GB, got '2 parsecs'"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_declaration_is_named(external: dict[str, object], words: str) -> None:
    with pytest.raises(GeostrataError) as error:
        Declaration.of("landing.trees", "/landing", external, {})
    assert words in str(error.value)
    assert "landing.trees" in str(error.value)


def test_a_hundred_thousand_files_are_listed_and_planned_in_little_memory(tmp_path: Path) -> None:
    count = 100_000
    for number in range(count):
        if number % 1000 == 0:
            folder = tmp_path / f"{number // 1000:03}"
            folder.mkdir()
        os.close(os.open(f"{folder}/{number}.csv", os.O_CREAT))
    tracemalloc.start()
    found = list_files(declared(tmp_path, max_files=1000))
    assert found is not None and len(found) == count
    loaded = found[: count // 2]
    plan = new_deliveries(declared(tmp_path, max_files=1000), found, known(*loaded))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(plan.files) == 1000 and not plan.is_settled
    assert not {file.path for file in plan.files} & {file.path for file in loaded}
    # Less than a kilobyte a file, whatever lies in them.
    assert peak < count * 1000
    shutil.rmtree(tmp_path)
