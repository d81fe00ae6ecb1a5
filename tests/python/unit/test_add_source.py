"""`geostrata add-source` writes what an entity needs, once, in a form that dbt and lint take. No Spark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reader_files as files
import shapely
import yaml

from geostrata import cli
from geostrata.add_source import naming, project_files
from geostrata.add_source.columns import BRONZE_COLUMNS
from geostrata.add_source.sampling import geometry_type
from geostrata.errors import GeostrataError

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(sys.executable).parent
COPIED = (
    *("dbt_project.yml", ".sqlfluff", "models", "macros", "seeds", "snapshots", "profiles", "docs/blocks"),
    *("tests/generic", "tests/singular", "scripts/sqlfluff_context", "adapter/dbt/include"),
)
ADDED = ("benches", "houses", "lakes", "plots", "poles", "signs", "trees")
TREES = """\
tree_no;Art;Höhe_m;order;lon;lat;last_modified;protected
1;Tilia;12.5;1;8.54;47.37;2024-05-01T10:00:00Z;true
2;Acer;7;2;8.55;47.38;2024-05-02T10:00:00Z;false
3;Acer;22;2;8.56;47.36;2024-05-03T10:00:00Z;true
"""
SIGNS = """\
Kind of sign,2nd kind,BaumArt,extent,the geom
stop,a,x,1,POINT (2600000 1200000)
stop,a,x,1,POINT Z (2600001 1200000 4)
yield,b,y,2,"LINESTRING (2600000 1200000, 2600001 1200001)"
stop,b,y,2,
"""


def copy_project(folder: Path) -> Path:
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return folder


def snapshot(project: Path) -> dict[str, str]:
    """Every text of the project but the landed files."""
    texts = [*project.rglob("*.sql"), *project.rglob("*.yml")]
    return {str(path.relative_to(project)): path.read_text(encoding="utf-8") for path in texts}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    for name in ("dbt_project.yml", "models", "seeds", "snapshots"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            folder.mkdir(exist_ok=True)
            shutil.copy(source, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GEOSTRATA_STATE", raising=False)
    return folder


def land(project: Path, name: str, text: str) -> Path:
    path = project / ".geostrata" / "landing" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def source_of(project: Path, name: str) -> dict[str, Any]:
    declared = yaml.safe_load((project / f"models/bronze/_bronze__{name}.yml").read_text(encoding="utf-8"))
    (source,) = declared["sources"]
    assert (source["name"], source["schema"]) == ("landing", "landing")
    (table,) = source["tables"]
    found: dict[str, Any] = table
    return found


def models_of(project: Path, layer: str, name: str) -> dict[str, dict[str, Any]]:
    text = (project / f"models/{layer}/_{layer}__{name}.yml").read_text(encoding="utf-8")
    return {model["name"]: model for model in yaml.safe_load(text)["models"]}


def column_names(model: dict[str, Any]) -> list[str]:
    return [column["name"] for column in model["columns"]]


def checked(project: Path, name: str) -> list[str]:
    """The lines of the checked model, without indents and commas."""
    text = (project / f"models/silver/{name}_checked.sql").read_text(encoding="utf-8")
    return [line.strip().removesuffix(",") for line in text.splitlines() if line.strip()]


def expectations(source: dict[str, Any]) -> list[str]:
    return [expectation["name"] for expectation in source["config"]["meta"]["expectations"]]


def test_a_csv_with_lon_and_lat(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    land(project, "trees/1.csv", TREES)
    assert cli.main(["add-source", ".geostrata/landing/trees/*.csv", "--name", "trees"]) == 0
    said = capsys.readouterr().out
    for part in (
        *("1 file in {{ var('landing') }}/trees, *.csv; 3 rows of 1 looked at", "csv, separator ';'"),
        *("tree_id, from tree_no", "models/silver/_silver__trees.yml", "dbt build --select +trees"),
        *("geostrata account", "EPSG:4326", "lon, lat (lonlat): Point 3"),
    ):
        assert part in said

    source = source_of(project, "trees")
    assert source["external"] == {
        "location": "{{ var('landing') }}/trees",
        "file_format": "csv",
        "pattern": "*.csv",
        "options": {"separator": ";"},
        "schema_policy": "rescue",
    }
    assert {column["name"]: column["data_type"] for column in source["columns"]} == {
        "tree_no": "bigint",
        "Art": "string",
        "Höhe_m": "double",
        "order": "bigint",
        "lon": "double",
        "lat": "double",
        "last_modified": "timestamp",
        "protected": "boolean",
    }
    meta = source["config"]["meta"]
    assert {"owner", "licence", "freshness"} <= meta.keys()
    assert {name: meta[name] for name in ("crs", "geometry", "encoding", "key", "geometry_types")} == {
        "crs": "EPSG:4326",
        "geometry": "lon, lat",
        "encoding": "lonlat",
        "key": "tree_id",
        "geometry_types": ["Point"],
    }
    assert expectations(source) == [
        *("key_present", "geometry_present", "geometry_readable", "crs_known", "coordinates_within_crs"),
        "event_ts_sane",
    ]

    raw = (project / "models/bronze/raw_trees.sql").read_text()
    assert raw == "select * from {{ landed_rows('landing', 'trees') }}\n"
    lines = checked(project, "trees")
    assert lines[3:14] == [
        "string(tree_no) as tree_id",
        "art",
        "coalesce(_source_crs, 'EPSG:4326') as source_crs",
        "`Höhe_m` as hohe_m",
        "`order` as tree_order",
        "protected",
        "lon",
        "lat",
        "last_modified as updated_at",
        "{{ landed_columns() }}",
        "from {{ rows_to_check(ref('raw_trees')) }}",
    ]
    assert "{{ examined('landed', from_lonlat=true) }}" in lines
    assert "false as is_deleted" in lines
    silver = (project / "models/silver/trees.sql").read_text()
    assert "unique_key='tree_id'" in silver
    assert "{{ h3_cell('geom', var('h3_resolution')) }} as h3" in silver


def test_yaml_and_sql_have_the_same_columns_as_the_entities_that_were_there(project: Path) -> None:
    land(project, "trees/1.csv", TREES)
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    bronze = yaml.safe_load((project / "models/bronze/_bronze__models.yml").read_text())["models"]
    (raw,) = models_of(project, "bronze", "trees").values()
    theirs = next(model for model in bronze if model["name"] == "raw_facilities")
    assert column_names(raw)[8:] == column_names(theirs)[7:]
    assert [column["description"] for column in raw["columns"][8:]] == [
        column["description"] for column in theirs["columns"][7:]
    ]
    assert raw["columns"][-1]["data_tests"] == theirs["columns"][-1]["data_tests"]
    assert raw["data_tests"] == theirs["data_tests"]

    silver = yaml.safe_load((project / "models/silver/_silver__models.yml").read_text())["models"]
    ours, theirs_all = models_of(project, "silver", "trees"), {model["name"]: model for model in silver}
    own = ["tree_id", "art", "source_crs", "hohe_m", "tree_order", "protected"]
    assert column_names(ours["trees_checked"]) == own + column_names(theirs_all["facilities_checked"])[4:]
    assert column_names(ours["trees"]) == own + column_names(theirs_all["facilities"])[4:]
    for name in ("contract", "layout", "meta"):
        assert ours["trees"]["config"][name] == theirs_all["facilities"]["config"][name]
    assert ours["trees"]["data_tests"] == theirs_all["facilities"]["data_tests"]
    assert ours["trees"]["columns"][0] == {
        **theirs_all["facilities"]["columns"][0],
        "name": "tree_id",
        "description": "Key of the tree.",
    }
    assert ours["trees"]["columns"][6:] == theirs_all["facilities"]["columns"][4:]
    assert ours["trees_checked"]["config"]["meta"] == {"key": "tree_id"}


def test_the_project_file_gets_one_line(project: Path) -> None:
    path = project / "dbt_project.yml"
    before = path.read_text()
    land(project, "trees/1.csv", TREES)
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    after = path.read_text().splitlines(keepends=True)
    line = "    trees: {key: tree_id, landed: [raw_trees], newest: updated_at desc}\n"
    at = after.index(line)
    assert "".join(after[:at] + after[at + 1 :]) == before
    assert after[at - 1].startswith("    ")
    assert list(yaml.safe_load("".join(after))["vars"]["entities"])[-1] == "trees"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Without an end of line, with comments, in the middle of the file, with Windows' line ends.
        ("vars:\n  entities:\n    a: {key: k}", "vars:\n  entities:\n    a: {key: k}\n    b: {key: b_id}\n"),
        (
            "vars:\n  entities:\n    a: {key: k}\n    # last\n  other: 1\n",
            "vars:\n  entities:\n    a: {key: k}\n    b: {key: b_id}\n    # last\n  other: 1\n",
        ),
        (
            "vars:\r\n  entities: # all\r\n      a:\r\n        key: k\r\nmodels: {}\r\n",
            None,
        ),
        (
            "vars:\r\n  entities: # all\r\n      a: {key: k}\r\nmodels: {}\r\n",
            "vars:\r\n  entities: # all\r\n      a: {key: k}\r\n      b: {key: b_id}\r\nmodels: {}\r\n",
        ),
        ("vars:\n  entities: {}\n", None),
        ("name: x\n", None),
    ],
)
def test_other_project_files(tmp_path: Path, text: str, expected: str | None) -> None:
    (tmp_path / "dbt_project.yml").write_bytes(text.encode())
    if expected is None:
        with pytest.raises(GeostrataError, match="to it by hand"):
            project_files.with_entity(tmp_path, "b", "b: {key: b_id}")
    else:
        assert project_files.with_entity(tmp_path, "b", "b: {key: b_id}") == expected


def test_geojson(project: Path) -> None:
    land(project, "benches/1.geojson", files.collection(files.feature_texts(5)))
    assert cli.main(["add-source", ".geostrata/landing/benches/1.geojson", "--name", "benches"]) == 0
    raw = (project / "models/bronze/raw_benches.sql").read_text()
    assert raw == "select * from {{ landed_rows('landing', 'benches') }}\n"
    source = source_of(project, "benches")
    assert source["external"]["pattern"] == "1.geojson"
    assert source["config"]["meta"]["crs"] == "EPSG:4326"
    assert source["config"]["meta"]["encoding"] == "geojson"
    assert expectations(source) == [
        *("key_present", "geometry_present", "geometry_readable", "geometry_not_empty"),
        *("geometry_type_allowed", "geometry_valid", "crs_known", "coordinates_within_crs"),
    ]
    assert checked(project, "benches")[3:9] == [
        "string(id) as bench_id",
        "name",
        "coalesce(_source_crs, 'EPSG:4326') as source_crs",
        "area",
        "geometry as landed_geometry",
        "_source_mtime as updated_at",
    ]
    assert "h3_cell('st_pointonsurface(geom)'" in (project / "models/silver/benches.sql").read_text()


@pytest.mark.parametrize("ending", ["gpkg", "shp", "fgb", "parquet"])
def test_binary_formats(project: Path, ending: str) -> None:
    folder = project / ".geostrata" / "landing" / "plots"
    folder.mkdir(parents=True)
    path = files.write_any(folder, ending)
    assert cli.main(["add-source", str(path), "--name", "plots"]) == 0
    source = source_of(project, "plots")
    assert source["external"]["file_format"] == files.FORMATS[ending]
    # A shapefile is as new as the newest of its parts.
    assert source["external"]["pattern"] == ("town.*" if ending == "shp" else path.name)
    assert source["config"]["meta"]["crs"] == "EPSG:2056"
    assert source["config"]["meta"]["geometry_types"] == ["Polygon"]
    assert "coalesce(_source_crs, 'EPSG:2056') as source_crs" in checked(project, "plots")
    types = {
        column["name"]: column.get("data_type")
        for column in models_of(project, "silver", "plots")["plots"]["columns"]
    }
    assert {name: types[name] for name in ("plot_id", "name", "area", "geometry", "updated_at")} == {
        "plot_id": "string",
        "name": "string",
        "area": "double",
        "geometry": "binary",
        "updated_at": "timestamp",
    }


def test_a_layer_and_an_option(project: Path) -> None:
    path = files.write_ogr(project / "town.gpkg", layer="houses")
    files.write_ogr(path, layer="trees", append=True)
    assert cli.main(["add-source", "town.gpkg", "--name", "trees", "--layer", "trees"]) == 0
    assert source_of(project, "trees")["external"] == {
        "location": ".",
        "file_format": "geopackage",
        "pattern": "town.gpkg",
        "options": {"layer": "trees"},
        "schema_policy": "rescue",
    }
    land(project, "signs.csv", SIGNS.replace(",,", ",-,"))
    arguments = ["--crs", "EPSG:2056", "--option", "null=-", "--option", 'quote="']
    assert cli.main(["add-source", ".geostrata/landing/signs.csv", "--name", "signs", *arguments]) == 0
    assert source_of(project, "signs")["external"]["options"] == {"null": "-", "quote": '"'}


def test_odd_columns_and_no_key(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    land(project, "signs/1.csv", SIGNS)
    assert cli.main(["add-source", ".geostrata/landing/signs", "--name", "signs", "--crs", "EPSG:2056"]) == 0
    assert "no column is a key in the sample" in " ".join(capsys.readouterr().out.split())
    # Delta takes no blank in a name.
    raw = (project / "models/bronze/raw_signs.sql").read_text().splitlines()
    assert raw[2:] == [
        "    `Kind of sign` as kind_of_sign,",
        "    `2nd kind` as n_2nd_kind,",
        "    baumart,",
        "    extent,",
        "    `the geom` as the_geom,",
        "    _source_crs,",
        "    {{ landed_columns() }}",
        "",
        "from {{ landed_rows('landing', 'signs') }}",
    ]
    assert [column["name"] for column in source_of(project, "signs")["columns"]] == [
        *("Kind of sign", "2nd kind", "baumart", "extent", "the geom"),
    ]
    (raw_model,) = models_of(project, "bronze", "signs").values()
    assert column_names(raw_model)[:6] == [
        *("kind_of_sign", "n_2nd_kind", "baumart", "extent", "the_geom", "_source_crs"),
    ]
    assert sorted(column_names(raw_model)[5:]) == sorted(BRONZE_COLUMNS)
    assert checked(project, "signs")[3:11] == [
        "concat(_source_file, '#', _source_row) as sign_id",
        "kind_of_sign",
        "n_2nd_kind",
        "baumart",
        "coalesce(_source_crs, 'EPSG:2056') as source_crs",
        "extent as sign_extent",
        "the_geom as landed_geometry",
        "_source_mtime as updated_at",
    ]
    meta = source_of(project, "signs")["config"]["meta"]
    assert meta["geometry_types"] == ["Point", "LineString"]
    assert meta["geometry_type"] == "Point or LineString"
    assert "event_ts_sane" not in expectations(source_of(project, "signs"))
    described = models_of(project, "silver", "signs")["signs"]["columns"]
    assert described[1]["description"] == "As delivered; the files call it Kind of sign."


def test_key_and_geometry_beside_columns_that_are_renamed(project: Path) -> None:
    land(project, "signs/1.csv", "OBJECTID,Kind of sign,WKT\n1,a,POINT (8 47)\n2,a,POINT (8 47)\n")
    assert cli.main(["add-source", ".geostrata/landing/signs", "--name", "signs", "--crs", "EPSG:4326"]) == 0
    assert checked(project, "signs")[3:7] == [
        "string(objectid) as sign_id",
        "kind_of_sign",
        "coalesce(_source_crs, 'EPSG:4326') as source_crs",
        "wkt as landed_geometry",
    ]


def test_a_key_of_ones_own(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    land(project, "signs/1.csv", SIGNS)
    arguments = [".geostrata/landing/signs", "--name", "signs", "--crs", "EPSG:2056", "--key", "kind OF sign"]
    assert cli.main(["add-source", *arguments]) == 0
    assert "string(kind_of_sign) as sign_id" in checked(project, "signs")
    assert "Kind of sign: 0 of 4 sampled rows lack it, 2 repeat it" in capsys.readouterr().out


def test_parts_that_columns_play(project: Path) -> None:
    rows = [
        {
            "id": f"t{n}",
            "srid": 2056,
            "deleted": n == 2,
            "edited": "x",
            "EditDate": "2024-05-01",
            "g": f"POINT ({n} 1)",
        }
        for n in range(4)
    ]
    land(project, "trees/1.jsonl", "\n".join(json.dumps(row) for row in rows))
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    lines = checked(project, "trees")
    assert lines[3:9] == [
        "string(id) as tree_id",
        "edited",
        "trim(string(srid)) as source_crs",
        "deleted as is_deleted",
        "g as landed_geometry",
        "cast(editdate as timestamp) as updated_at",
    ]
    assert "coalesce(is_deleted, false) as is_deleted" in lines
    assert source_of(project, "trees")["config"]["meta"]["crs"] == "by row (column srid)"
    assert "event_ts_sane" in expectations(source_of(project, "trees"))


def test_a_key_with_its_name_in_silver_is_taken_as_it_is(project: Path) -> None:
    land(project, "trees/1.csv", "tree_id,lon,lat,lat_2\na1,1,2,3\nb2,1,2,3\n")
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    assert checked(project, "trees")[3:8] == [
        "tree_id",
        "coalesce(_source_crs, 'EPSG:4326') as source_crs",
        "lat_2",
        "double(lon) as lon",
        "double(lat) as lat",
    ]


def test_a_few_bad_values_do_not_hide_coordinates_and_times(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [f"{n},8.5,47.{n},2024-05-01" for n in range(30)]
    land(project, "trees/1.csv", "\n".join(["id,lon,lat,updated_at", *good, "30,east,95,never"]))
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    types = {column["name"]: column["data_type"] for column in source_of(project, "trees")["columns"]}
    assert types == {"id": "bigint", "lon": "double", "lat": "double", "updated_at": "timestamp"}
    said = " ".join(capsys.readouterr().out.split())
    assert "1 of 31 values of lon are no double: they are rescued" in said
    assert "1 of 31 values of updated_at are no timestamp: they are rescued" in said


def test_times_that_are_often_missing_or_early(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{n},1,1,{'' if n % 2 else '1980-01-01'}" for n in range(20)]
    land(project, "trees/1.csv", "\n".join(["id,lon,lat,changed_at", *rows]))
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    assert "coalesce(cast(changed_at as timestamp), _source_mtime) as updated_at" in checked(project, "trees")
    (sane,) = [
        expectation
        for expectation in source_of(project, "trees")["config"]["meta"]["expectations"]
        if expectation["name"] == "event_ts_sane"
    ]
    assert sane == {
        "name": "event_ts_sane",
        "column": "updated_at",
        "earliest": "1900-01-01",
        "ahead": "1 day",
    }
    assert "10 of 20 sampled rows lack changed_at" in capsys.readouterr().out


def test_a_crs_in_the_values_themselves_is_left_to_them(project: Path) -> None:
    wkb = shapely.to_wkb(shapely.set_srid(shapely.points([1, 2], [3, 4]), 2056), include_srid=True)
    table = pa.table({"id": ["a", "b"], "bbox": [{"xmin": 1.0}, {"xmin": 2.0}], "g": wkb.tolist()})
    pq.write_table(table, project / "trees.parquet")
    assert cli.main(["add-source", "trees.parquet", "--name", "trees"]) == 0
    assert "_source_crs as source_crs" in checked(project, "trees")
    assert "bbox as tree_bbox" in checked(project, "trees")


def test_names_that_bronze_has_itself(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    land(project, "trees/1.csv", "id,Kind,kind,_row_id,lon,lat\n1,a,b,c,1,2\n")
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    assert [column["name"] for column in source_of(project, "trees")["columns"]] == [
        "id",
        "Kind",
        "lon",
        "lat",
    ]
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "column kind is not declared, its values are kept in _rescued: it differs from Kind only by case"
        in said
    )
    assert "column _row_id is not declared" in said


def test_files_that_cannot_be_looked_at_are_passed_over(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    land(project, "trees/0.csv", "")
    land(project, "trees/1.csv", TREES)
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 files in {{ var('landing') }}/trees; 3 rows of 1 looked at" in said
    assert "0.csv: it is empty" in said


def test_a_folder_outside_the_project(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "trees [1].csv").write_text(TREES)
    assert cli.main(["add-source", str(folder / "trees [1].csv"), "--name", "trees"]) == 0
    external = source_of(project, "trees")["external"]
    assert (external["location"], external["pattern"]) == (str(folder), "trees [[]1].csv")


def test_a_moved_state(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEOSTRATA_STATE", str(tmp_path / "state"))
    folder = tmp_path / "state" / "landing" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "1.csv").write_text(TREES)
    assert (
        cli.main(["add-source", str(tmp_path / "state" / "landing" / "**" / "*.csv"), "--name", "trees"]) == 0
    )
    external = source_of(project, "trees")["external"]
    assert (external["location"], external["pattern"]) == ("{{ var('landing') }}", "*.csv")


def test_a_dry_run_prints_and_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    land(project, "trees/1.csv", TREES)
    before = snapshot(project)
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees", "--dry-run"]) == 0
    dry = capsys.readouterr().out
    assert snapshot(project) == before
    assert cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"]) == 0
    for path in project_files.paths_of("trees"):
        assert f"--- {path}\n{(project / path).read_text(encoding='utf-8')}" in dry
    assert "    trees: {key: tree_id, landed: [raw_trees], newest: updated_at desc}" in dry


def test_nothing_is_ever_overwritten(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    land(project, "trees/1.csv", TREES)
    arguments = ["add-source", ".geostrata/landing/trees", "--name", "trees"]
    for path in project_files.paths_of("trees"):
        (project / path).write_text("mine")
        before = snapshot(project)
        assert cli.main(arguments) == 2
        assert capsys.readouterr().err == (
            f"geostrata: {path} exists already, and nothing is overwritten; choose another --name\n"
        )
        assert snapshot(project) == before
        (project / path).unlink()
    assert cli.main(arguments) == 0
    before = snapshot(project)
    assert cli.main(arguments) == 2
    assert snapshot(project) == before


@pytest.mark.parametrize("trouble", [PermissionError(13, "Permission denied", "x.sql"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_nothing(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    trouble: BaseException,
) -> None:
    land(project, "trees/1.csv", TREES)
    before = snapshot(project)

    def fail(*_: object) -> None:
        raise trouble

    monkeypatch.setattr(project_files, "_replace", fail)
    code = cli.main(["add-source", ".geostrata/landing/trees", "--name", "trees"])
    said = capsys.readouterr().err
    assert (code, said) in (
        (2, "geostrata: x.sql: Permission denied; nothing was written\n"),
        (130, "geostrata: interrupted\n"),
    )
    assert snapshot(project) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "--name", "trees"], "nowhere.csv: no such file or folder"),
        (["nowhere/*.csv", "--name", "trees"], "no file matches nowhere/*.csv: there is no folder"),
        (["{landing}/trees/*.json", "--name", "trees"], "no file matches"),
        (["{landing}/empty", "--name", "trees"], "holds no file"),
        (["{landing}/noise.bin", "--name", "trees"], "no format that is known; deliver one of csv, "),
        (
            ["{landing}/mixed", "--name", "trees"],
            "holds files that end in .csv, .txt: name one kind by a glob",
        ),
        (["a.csv", "b.csv", "--name", "trees"], "put a glob in quotes"),
        (["s3a://bucket/x", "--name", "trees"], "only files on this machine"),
        (["{landing}/trees", "--name", "Trees"], "--name must be lower-case"),
        (["{landing}/trees", "--name", "2trees"], "--name must be lower-case"),
        (["{landing}/trees", "--name", "yes"], "is a word that the SQL or YAML around it uses"),
        (["{landing}/trees", "--name", "order"], "is a word that the SQL or YAML around it uses"),
        (["{landing}/trees", "--name", "parcels"], "models/bronze/raw_parcels.sql exists already"),
        (["{landing}/trees", "--name", "zone_summary"], "is taken by models/gold/zone_summary.sql"),
        (["{landing}/trees", "--name", "extents"], "is taken by seeds/extents.csv"),
        (
            ["{landing}/trees", "--name", "parcels_geoparquet"],
            "the source landing.parcels_geoparquet is declared",
        ),
        (
            ["{landing}/trees", "--name", "trees", "--key", "nr"],
            "--key nr: the files have no such column; they have",
        ),
        (["{landing}/trees", "--name", "trees", "--key", "lon"], "--key lon: that column is the geometry"),
        (["{landing}/trees", "--name", "trees", "--crs", "EPSG:1"], "--crs must be a CRS such as EPSG:2056"),
        (["{landing}/trees", "--name", "trees", "--geometry", "Art"], "column Art holds no geometry"),
        (["{landing}/trees", "--name", "trees", "--geometry", "Art,lon"], "Art is no number in the sample"),
        (
            ["{landing}/trees", "--name", "trees", "--option", "quote"],
            "--option must be name=value, got 'quote'",
        ),
        (["{landing}/plain.csv", "--name", "trees"], "no geometry was found in id, name"),
        (["{landing}/signs.csv", "--name", "signs"], "say it with --crs"),
        (["{landing}/far.csv", "--name", "trees"], "say it with --crs"),
        (["{landing}/jinja.csv", "--name", "trees"], "dbt would take its brackets for Jinja"),
    ],
)
def test_mistakes_are_told_in_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    landing = land(project, "trees/1.csv", TREES).parents[1]
    land(project, "mixed/1.csv", TREES)
    land(project, "mixed/readme.txt", "trees")
    land(project, "empty/_hidden.csv", TREES)
    land(project, "plain.csv", "id,name\n1,a\n2,b\n")
    land(project, "signs.csv", SIGNS)
    land(project, "far.csv", "id,x,y\n1,2600000,1200000\n")
    land(project, "jinja.csv", "id,{{ a }},lon,lat\n1,2,3,4\n")
    (landing / "noise.bin").write_bytes(b"\x00\x01\x02\x03" * 50)
    before = snapshot(project)
    assert cli.main(["add-source", *(part.replace("{landing}", str(landing)) for part in arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert message in said.err
    assert snapshot(project) == before


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a source of every kind added, by the command itself."""
    project = copy_project(tmp_path_factory.mktemp("grown"))
    landing = project / "state" / "landing"
    for name in ADDED:
        (landing / name).mkdir(parents=True)
    (landing / "trees" / "1.csv").write_text(TREES, encoding="utf-8")
    (landing / "benches" / "1.geojson").write_text(files.collection(files.feature_texts(5)), encoding="utf-8")
    files.write_ogr(landing / "lakes" / "lakes.shp")
    files.write_geoparquet(landing / "plots" / "plots.parquet")
    files.write_ogr(landing / "houses" / "houses.gpkg")
    long_name = (
        "How high is it, in metres above the ground on which it stands, without the part below ground?"
    )
    odd = [
        "Name",
        "NAME 2",
        "name:",
        "a`b",
        "a.b",
        "it's",
        'say "x"',
        "100%",
        "#",
        "yes",
        "null",
        "名前",
        "Type",
        "user",
    ]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in [*odd, long_name, "wkt"])
    row = ",".join(["1"] * (len(odd) + 1)) + ",POINT (8 47)"
    (landing / "poles" / "1.csv").write_text(f"{header}\n{row}\n{row}\n", encoding="utf-8")
    (landing / "signs" / "1.csv").write_text(SIGNS, encoding="utf-8")
    more = {"signs": ["--crs", "EPSG:2056"], "poles": ["--crs", "EPSG:4326"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setenv("GEOSTRATA_STATE", str(project / "state"))
        for name in ADDED:
            assert cli.main(["add-source", str(landing / name), "--name", name, *more.get(name, [])]) == 0
    return project


def test_generated_sql_is_clean(grown: Path) -> None:
    sql = [path for name in ADDED for path in project_files.paths_of(name) if path.endswith(".sql")]
    done = subprocess.run(
        [BIN / "sqlfluff", "lint", "-q", "--disable-progress-bar", "--nocolor", *sql],
        cwd=grown,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_project_still_parses(grown: Path) -> None:
    done = subprocess.run(
        [BIN / "dbt", "--warn-error", "parse", "--profiles-dir", grown / "profiles"],
        cwd=grown,
        env=os.environ | {"GEOSTRATA_STATE": str(grown / "state")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    manifest = json.loads((grown / "target" / "manifest.json").read_text())
    nodes = {node["name"]: node for node in manifest["nodes"].values() if node["resource_type"] == "model"}
    for name in ADDED:
        assert nodes[name]["config"]["contract"]["enforced"] is True
        assert f"model.geostrata.raw_{name}" in nodes[f"{name}_checked"]["depends_on"]["nodes"]
        assert f"source.geostrata.landing.{name}" in nodes[f"raw_{name}"]["depends_on"]["nodes"]
        assert f"model.geostrata.{name}" in nodes["row_ledger"]["depends_on"]["nodes"]
    # The names of the files come through YAML as they are.
    source = manifest["sources"]["source.geostrata.landing.poles"]
    assert list(source["columns"])[:13] == [
        *(
            "name",
            "NAME 2",
            "name:",
            "a`b",
            "a.b",
            "it's",
            'say "x"',
            "100%",
            "#",
            "yes",
            "null",
            "名前",
            "type",
        ),
    ]


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        *(("trees", "tree"), ("facilities", "facility"), ("bus_stops", "bus_stop"), ("addresses", "address")),
        *(
            ("boxes", "box"),
            ("branches", "branch"),
            ("houses", "house"),
            ("buses", "bus"),
            ("species", "species"),
        ),
        *(
            ("telemetry", "telemetry"),
            ("census", "census"),
            ("gas", "ga"),
            ("bushes", "bush"),
            ("ties", "tie"),
        ),
    ],
)
def test_one_of_many(plural: str, one: str) -> None:
    assert naming.singular(plural) == one


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        *(("Street Name", "street_name"), ("streetName", "street_name"), ("OBJECTID", "objectid")),
        *(("HTMLText", "html_text"), ("Straße", "strasse"), ("2nd", "n_2nd"), ("%", ""), ("名前", "")),
    ],
)
def test_snake_case(name: str, snake: str) -> None:
    assert naming.snake_case(name) == snake


def test_reserved_words_are_those_of_the_linter() -> None:
    from sqlfluff.core import dialect_selector

    reserved = dialect_selector("sparksql").sets("reserved_keywords")
    assert {word.lower() for word in reserved} == naming.RESERVED


@pytest.mark.parametrize(
    "wkt", ["POINT Z (1 2 3)", "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)))", "LINESTRING (0 0, 1 1)"]
)
def test_types_of_geometry_in_every_encoding(wkt: str) -> None:
    shape = shapely.from_wkt(wkt)
    srid = shapely.set_srid(shape, 2056)
    for value in (
        *(wkt, f"SRID=2056;{wkt.lower()}", shapely.to_geojson(shape), shapely.to_wkb(shape)),
        *(
            shapely.to_wkb(shape, flavor="iso", byte_order=0),
            shapely.to_wkb(srid, hex=True, include_srid=True),
        ),
    ):
        assert geometry_type(value) == shape.geom_type
