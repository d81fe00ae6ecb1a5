"""What `geostrata repair` refuses, and what it plans, from the log alone. No Spark is started."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta_tables import shapes, write_each, write_project
from deltalake import CommitProperties, DeltaTable, write_deltalake

from geostrata import cli, settings
from geostrata.errors import GeostrataError
from geostrata.repairs import command, guards, history, map_picture, plans
from geostrata.repairs.difference import Difference
from geostrata.repairs.history import Version
from geostrata.repairs.target import find
from geostrata.tables.state import read_state

BOX = [[0, 0, 1, 1]]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config: dict[str, dict[str, Any]] = {
        "silver.parcels": {"config": {"unique_key": "shape_id"}},
        "silver.positions": {"config": {"meta": {"streamed": True}}},
        "bronze.raw_parcels": {},
        "gold.other_columns": {},
        "gold.ordered": {"config": {"layout": {"zorder": ["shape_id"]}}},
    }
    write_project(tmp_path, config)
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "state/warehouse"
    write_each(folder / "silver.db/parcels", [shapes(BOX, number) for number in range(4)])
    write_each(folder / "silver.db/positions", [shapes(BOX), shapes(BOX, 1)])
    write_each(
        folder / "bronze.db/raw_parcels",
        [shapes(BOX), shapes(BOX, 1)],
        configuration={"delta.appendOnly": "true"},
    )
    write_each(folder / "gold.db/other_columns", [shapes(BOX).drop_columns(["geometry"])])
    write_each(
        folder / "gold.db/ordered",
        [shapes(BOX)],
        configuration={"delta.dataSkippingStatsColumns": "shape_id,bbox"},
    )
    return folder


def versions_of(folder: Path) -> dict[str, int]:
    return {str(path.parent): DeltaTable(path.parent).version() for path in folder.glob("*/*/_delta_log")}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["restore", "parcels", "--to-version", "9"],
            "silver.parcels: there is no version 9; its log holds 0 to 3",
        ),
        (["restore", "parcels", "--to-time", "noon"], "'noon' is no time; write it as 2026-03-01T12:00:00"),
        (
            ["restore", "parcels", "--to-time", "2001-01-01"],
            "does not reach back to 2001-01-01; it begins with version 0",
        ),
        (
            ["restore", "silver", "--to-version", "1"],
            "silver is 2 tables (silver.parcels, silver.positions): name one",
        ),
        (["undo", "parcel"], "did you mean parcels?"),
        (["undo", "other_columns"], "its last change is the first one, which made it"),
        (["undo", "positions"], "a stream reads it (meta.streamed)"),
        (["delete", "positions", "--where", "true"], "start the stream with a new checkpoint"),
        (["delete", "raw_parcels", "--where", "true"], "is append-only (delta.appendOnly)"),
        (["restore", "raw_parcels", "--to-version", "0"], "Land a corrected file"),
        (
            ["replace", "parcels", "--where", "true", "--from", "other_columns"],
            "gold.other_columns lacks geometry, so that its rows are none of silver.parcels",
        ),
        (["replace", "parcels", "--where", "true", "--from", "version:7"], "there is no version 7"),
        (
            ["delete", "parcels", "--where", "true", "--key", "parcel"],
            "--key: silver.parcels has no column parcel",
        ),
        (["delete", "parcels", "--where", "true", "--apply"], "--apply needs a --reason"),
        (["delete", "parcels", "--where", "true", "--apply", "--reason", " "], "--apply needs a --reason"),
        (
            ["delete", "parcels", "--where", "true", "--apply", "--reason", "trial"],
            "ops.repair_log is not built yet: run `dbt run --select repair_log` once",
        ),
        (["undo", "parcels", "--map", "where.png"], "maps are written as SVG; name the file where.svg"),
        (["drop", "parcels"], "its name must be repeated; to drop it: --confirm silver.parcels"),
        (["drop", "parcels", "--confirm", "parcel"], "'parcel' is not its name"),
        (
            ["drop", "parcels", "--confirm", "parcels"],
            "version 3 is the only copy of its rows. Make a backup first",
        ),
        (["clone", "parcels", "--as", "silver.positions"], "silver.positions is there already"),
        (["clone", "parcels", "--as", "a b"], "is called by a name or schema.name"),
        (["migrate", "parcels", "--partition-by", "day"], "silver.parcels has no column day to go by"),
        (["migrate", "parcels", "--partition-by", ""], "is laid out by nothing already"),
        (["migrate", "positions", "--partition-by", "shape_id"], "a stream reads it"),
        (["migrate", "ordered", "--cluster-by", "shape_id"], "Delta never allows ZORDER again"),
        (["clone", "s3://bucket/parcels"], "clone works on tables on a local disk only"),
    ],
)
def test_refusals_are_told_in_one_line_and_change_nothing(
    warehouse: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = versions_of(warehouse)
    assert cli.main(["repair", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert versions_of(warehouse) == before


def test_a_version_whose_files_are_deleted_is_refused_and_the_oldest_whole_one_named(warehouse: Path) -> None:
    path = warehouse / "silver.db/parcels"
    DeltaTable(path).delete("shape_id < 2")
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(
        GeostrataError, match=r"version 1 can't be read any more: VACUUM has deleted 2 of its 2 files"
    ) as told:
        plans.restore(find("parcels"), 1, None)
    assert "the oldest that is whole is version 4" in str(told.value)
    with pytest.raises(GeostrataError, match="VACUUM has deleted"):
        plans.undo(find("parcels"))


def test_undo_passes_over_what_changed_no_rows(warehouse: Path) -> None:
    path = warehouse / "silver.db/parcels"
    DeltaTable(path).delete("shape_id = 0")
    DeltaTable(path).optimize.compact()
    assert DeltaTable(path).version() == 5
    repair = plans.undo(find("parcels"))
    assert repair.title.startswith("undo version 4 (DELETE, ")
    assert repair.statements[0].endswith("to version as of 3")
    assert repair.undo == "geostrata repair restore silver.parcels --to-version 5"


def test_undo_takes_back_a_repair_as_a_whole() -> None:
    """A migration is several commits, some of which alone would be passed over."""
    ours = json.dumps(history.repair_note("a", "migrate", "why"))
    operations = [("WRITE", None), ("SET TBLPROPERTIES", ours), ("CLUSTER BY", ours), ("OPTIMIZE", ours)]
    known = [Version(number, NOW, *operation) for number, operation in enumerate(operations)]
    last, before = history.before_last_change([*known, Version(4, NOW, "OPTIMIZE")], "t")
    assert (last.number, before.number) == (3, 0)
    with pytest.raises(GeostrataError, match="its last change is the first one, which made it"):
        history.before_last_change([Version(0, NOW, "CLONE", ours), Version(1, NOW, "WRITE", ours)], "t")


def test_the_history_of_a_clone_is_read(warehouse: Path) -> None:
    """Spark says that its first commit was made from version -1, at which deltalake stops."""
    path = warehouse / "silver.db/parcels"
    log = path / "_delta_log/00000000000000000000.json"
    log.write_text(log.read_text().replace('{"commitInfo":{', '{"commitInfo":{"readVersion":-1,'))
    assert [version.number for version in history.versions(str(path))] == [0, 1, 2, 3]


def test_clustering_needs_statistics(warehouse: Path) -> None:
    state = read_state(warehouse / "gold.db/ordered")
    guards.check_clustering(find("parcels"), state, ["shape_id", "bbox.xmin"])
    with pytest.raises(GeostrataError, match="keeps none of geometry"):
        guards.check_clustering(find("parcels"), state, ["shape_id", "geometry"])


def test_the_version_of_a_time_is_the_newest_that_was_there() -> None:
    known = [Version(number, NOW + timedelta(hours=number), "WRITE") for number in range(3)]
    assert history.at_time(known, "2026-03-01T13:30:00", "t").number == 1
    assert history.at_time(known, "2026-03-01T13:00:00", "t").number == 1
    # A zone counts: this is 12:30 UTC.
    assert history.at_time(known, "2026-03-01T14:30:00+02:00", "t").number == 0
    assert history.at_time(known, "2026-03-02", "t").number == 2


def test_a_version_goes_back_with_what_it_was_built_from(tmp_path: Path) -> None:
    for number, inputs in enumerate([{"silver.a": 1}, {"silver.a": 5}, None]):
        note = (
            json.dumps({"dbt_inputs": inputs, "dbt_input_digests": {"files": "x"}}) if inputs else "by hand"
        )
        properties = CommitProperties(custom_metadata={"userMetadata": note})
        write_deltalake(tmp_path / "t", shapes(BOX, number), mode="append", commit_properties=properties)
    known = history.versions(str(tmp_path / "t"))
    assert history.inputs_as_of(known, 0) == {"dbt_inputs": {"silver.a": 1}}
    assert history.inputs_as_of(known, 1) == {"dbt_inputs": {"silver.a": 5}}
    assert history.inputs_as_of(known, 2) == {"dbt_inputs": {"silver.a": 5}}
    # Nothing is known of what came before the first note: all is read again. Without any note nothing is said.
    assert history.inputs_as_of(known[1:], 0) == {"dbt_inputs": {}}
    assert history.inputs_as_of([known[2]], 2) == {}


def test_a_backup_is_known_by_its_name(warehouse: Path) -> None:
    write_each(warehouse / "silver.db/parcels_version_3", [shapes(BOX)])
    assert find("silver.parcels_version_3").path == str((warehouse / "silver.db/parcels_version_3").resolve())
    assert find("silver.parcels").keys == ("shape_id",)
    assert find("silver.parcels", "a, b").keys == ("a", "b")
    repair = plans.drop(find("parcels"), "silver.parcels")
    assert repair.undo == "geostrata repair clone silver.parcels_version_3 --as silver.parcels"
    assert repair.must_be_equal


def test_the_newest_backup_counts_whatever_it_is_called(warehouse: Path) -> None:
    target = find("parcels")
    for name in ("parcels_kept", "before_the_move", "something_else"):
        source = target.path if name != "something_else" else "/elsewhere"
        note = json.dumps(history.source_note("silver.parcels", source, 2))
        properties = CommitProperties(custom_metadata={"userMetadata": note})
        write_deltalake(warehouse / "silver.db" / name, shapes(BOX), commit_properties=properties)
    assert "before_the_move holds the same rows" in plans.drop(target, "parcels").title
    # Another name of the same table is no copy of it.
    (warehouse / "silver.db/parcels_version_3").symlink_to(target.path)
    assert "before_the_move holds the same rows" in plans.drop(target, "parcels").title


def test_the_copy_of_an_append_only_table_is_one(warehouse: Path) -> None:
    made, filled, closed = plans.clone(find("raw_parcels"), None).statements
    assert "'delta.appendOnly' = 'false'" in made
    assert filled.startswith("insert overwrite ")
    assert "'delta.appendOnly' = 'true'" in closed
    assert len(plans.clone(find("parcels"), None).statements) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [("undoo parcels", "invalid choice: 'undoo'"), ("-h", "docs/repair.md"), ("undo 'parcels", "No closing")],
)
def test_a_mistake_does_not_end_dbt(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GeostrataError, match=said):
        command.run_in(None, words)


def test_a_backup_that_lives_on_other_files_is_none(warehouse: Path) -> None:
    """As a shallow clone does: it names the files of its source in full."""
    path = warehouse / "silver.db/parcels_version_3"
    write_each(path, [shapes(BOX)])
    log = path / "_delta_log/00000000000000000000.json"
    file = next(path.glob("*.parquet"))
    log.write_text(log.read_text().replace(file.name, f"file://{warehouse}/silver.db/parcels/{file.name}"))
    with pytest.raises(GeostrataError, match="the only copy of its rows"):
        plans.drop(find("parcels"), "parcels")


def test_the_map_shows_what_goes_and_what_comes(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write_each(path, [shapes([[0, 0, 10, 10]])])
    found = Difference(
        rows_removed=2,
        rows_added=1,
        boxes={"removed": [(1, 1, 2, 2), (5, 5, 5, 5)], "added": [(1, 1, 2, 3)]},
    )
    drawn = tmp_path / "where.svg"
    map_picture.write(drawn, 'a < b "quoted"', found, read_state(path))
    root = ET.fromstring(drawn.read_text())  # noqa: S314  # our own
    name = "{http://www.w3.org/2000/svg}"
    groups = {group.get("class"): group.findall(f"{name}rect") for group in root.iter(f"{name}g")}
    assert {kind: len(found) for kind, found in groups.items()} == {"file": 1, "removed": 2, "added": 1}
    assert root.get("aria-label") == 'a < b "quoted"'
    # A point is a dot that can be seen, in the middle of the extent.
    dot = groups["removed"][1]
    frame = groups["file"][0]
    assert float(dot.get("width", 0)) == 3.0
    middle = float(frame.get("x", 0)) + float(frame.get("width", 0)) / 2
    assert float(dot.get("x", 0)) + 1.5 == pytest.approx(middle, abs=0.2)


def test_a_map_needs_a_place(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"a": [1]}))
    with pytest.raises(GeostrataError, match="no bbox column"):
        map_picture.check(tmp_path / "where.svg", read_state(tmp_path / "t"))
