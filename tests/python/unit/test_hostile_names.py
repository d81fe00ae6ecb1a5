"""Text of files in what add-source writes and in what additive sources gain: it comes back as it was, or is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from dbt.clients.yaml_helper import load_yaml_text
from dbt.context.base import generate_base_context
from dbt.parser.schema_renderer import SchemaYamlRenderer
from dbt_common.context import set_invocation_context
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbt_sedona_text import identifier, literal, printable
from geostrata.add_source.choosing import Wishes, choose, short_crs
from geostrata.add_source.places import find
from geostrata.add_source.rendering import rendered
from geostrata.add_source.sampling import look
from geostrata.errors import GeostrataError
from geostrata.landing.declaration import Declaration
from geostrata.landing.outcomes import SOUND, Outcome
from geostrata.landing.planning import _new_columns
from geostrata.readers import ReaderError, SourceSpec

PIECES = st.sampled_from(
    [
        "{{ env_var('PLANTED') }}",
        "{{adapter.drop_schema(this)}}",
        "{% do x %}",
        "{#",
        "`",
        "``",
        "'",
        '"',
        "\\",
        "\n",
        "\r",
        "\u2028",
        "\x85",
        "\x00",
        "\x1b[2J",
        "\U0001f600",
        ": ",
        " #",
        "- ",
        "!!python/object:os.system",
        "&a",
        "*a",
        "%",
        "@",
        "|",
        ">",
        "?",
        "[",
        "{",
        "}",
        "}}",
        ",",
        ";",
        "--",
        "/*",
        "') as x, drop table y; --",
        "${env:PLANTED}",
        "</script>",
        "on",
        "null",
        "1e3",
        "0x1f",
        "2020-01-01",
        "=",
        "~",
        "é",
        "select",
    ]
)
HOSTILE = st.lists(st.one_of(PIECES, st.text(max_size=4)), min_size=1, max_size=4).map("".join)
FILE_NAMES = HOSTILE.filter(
    lambda name: (
        "/" not in name
        and "\x00" not in name
        and name not in ("", ".", "..")
        and not name.startswith(("_", "."))
        and len(name.encode(errors="replace")) < 200
        and not any("\ud800" <= sign <= "\udfff" for sign in name)
    )
)
# What the templates of add-source call; anything else that a file brings in is undefined.
CALLS = (
    "landed_rows",
    "landed_columns",
    "rows_to_check",
    "ref",
    "examined",
    "checked_columns",
    "newest_versions",
)
PROJECT = {"name": "town", "vars": {"landing": "landing", "entities": {"parcels": {"key": "parcel_id"}}}}
THOROUGH = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "the planted secret")
    set_invocation_context({"PLANTED": "the planted secret"})


def as_dbt_reads(text: str) -> dict[str, Any]:
    """dbt's own YAML and Jinja, entry by entry as its parser renders them."""
    loaded = load_yaml_text(text)
    context = generate_base_context({"landing": "LANDING"})
    context["var"] = lambda name: name.upper()
    for key in ("sources", "models"):
        renderer = SchemaYamlRenderer(context, key)
        loaded[key] = [renderer.render_data(entry) for entry in loaded.get(key, [])]
    return loaded


def written(
    root: Path, content: dict[str, Any], folder: str = "trees", name: str = "trees.geojson"
) -> dict[str, str]:
    """The files that add-source would write for one GeoJSON."""
    (root / "dbt_project.yml").write_text(yaml.safe_dump(PROJECT))
    place = root / "landing" / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(json.dumps(content), encoding="utf-8")
    found = find(str(place / name), root)
    return rendered(choose("trees", look(found.files, {}), Wishes()), found)


def collection(properties: list[str], crs: str | None = None) -> dict[str, Any]:
    features = [
        {
            "type": "Feature",
            "properties": {"tree_id": f"t{number}", **dict.fromkeys(properties, "x")},
            "geometry": {"type": "Point", "coordinates": [8 + number / 10, 47]},
        }
        for number in range(3)
    ]
    declared = {"crs": {"type": "name", "properties": {"name": crs}}} if crs is not None else {}
    return {"type": "FeatureCollection", **declared, "features": features}


def check_sql(text: str) -> set[str]:
    """Renders as dbt would, with nothing but the macros that the templates call. Gives the quoted names."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701  # SQL
    macros = {name: lambda *_, **__: "macro" for name in (*CALLS, "config", "bbox", "h3_cell", "var")}
    sql = environment.from_string(text).render(**macros)
    assert "the planted secret" not in sql
    names = {name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)*)`", sql)}
    bare = re.sub(r"`(?:[^`]|``)*`", "name", sql)
    bare = re.sub(r"'(?:[^'\\]|\\.)*'", "text", bare)
    bare = re.sub(r"--(?: noqa: LT05| Delta takes no blank.*)$", "", bare, flags=re.MULTILINE)
    assert re.fullmatch(r"[\w\s(),.*]*", bare), bare
    return names


@THOROUGH
@given(names=st.lists(HOSTILE, min_size=1, max_size=3, unique=True))
def test_names_of_columns(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    root = tmp_path_factory.mktemp("project")
    try:
        files = written(root, collection(names))
    except (GeostrataError, ReaderError):
        return
    texts = list(files.items())
    bronze, silver = (as_dbt_reads(text) for path, text in texts if path.endswith(".yml"))
    declared = {column["name"] for column in bronze["sources"][0]["tables"][0]["columns"]}
    assert declared <= {
        "tree_id",
        "geometry",
        *(name.strip() for name in names),
        *(name.strip().lower() for name in names),
    }
    assert all(column["description"] for column in silver["models"][0]["columns"])
    for path, text in texts:
        assert "the planted secret" not in str(as_dbt_reads(text) if path.endswith(".yml") else "")
        if path.endswith(".sql"):
            check_sql(text)


@THOROUGH
@given(crs=HOSTILE)
def test_a_crs(tmp_path_factory: pytest.TempPathFactory, crs: str) -> None:
    try:
        files = written(tmp_path_factory.mktemp("project"), collection([], crs))
    except (GeostrataError, ReaderError):
        return
    text = "".join(files.values())
    assert as_dbt_reads(next(iter(files.values())))["sources"][0]["tables"][0]["config"]["meta"]["crs"] in (
        "as each file declares it",
        short_crs(crs),
    )
    assert "PLANTED" not in text
    assert "drop_schema" not in text


def test_a_crs_is_written_by_its_short_name_only(tmp_path: Path) -> None:
    evil = "{{adapter.drop_schema(this)}}"
    files = written(tmp_path, collection([], evil))
    assert evil not in "".join(files.values())
    sound = written(tmp_path, collection([], "urn:ogc:def:crs:EPSG::4326"), name="sound.geojson")
    assert "coalesce(_source_crs, 'EPSG:4326') as source_crs" in "".join(sound.values())


@THOROUGH
@given(folder=FILE_NAMES, name=FILE_NAMES)
def test_names_of_folders_and_files(tmp_path_factory: pytest.TempPathFactory, folder: str, name: str) -> None:
    root = tmp_path_factory.mktemp("project")
    try:
        files = written(root, collection([]), folder, f"{name}.geojson")
    except (GeostrataError, ReaderError):
        return
    external = as_dbt_reads(next(iter(files.values())))["sources"][0]["tables"][0]["external"]
    assert external["location"] in (f"LANDING/{folder}", f"{{{{ var('landing') }}}}/{folder}")
    assert re.sub(r"\[([*?[])\]", r"\1", external["pattern"]) == f"{name}.geojson"


@THOROUGH
@given(text=HOSTILE)
def test_text_and_names_in_sql(text: str) -> None:
    assert re.fullmatch(r"'(?:[^'\\]|\\.)*'", literal(text), re.DOTALL)
    assert re.sub(r"\\(.)", r"\1", literal(text)[1:-1], flags=re.DOTALL) == text
    assert identifier(text)[1:-1].replace("``", "`") == text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066]", printable(text))


@THOROUGH
@given(names=st.lists(st.one_of(HOSTILE, st.from_regex(r"\A[a-z_]{1,6}\Z")), max_size=5, unique=True))
def test_new_columns_are_plain(names: list[str]) -> None:
    declared = Declaration(
        "landing.trees", "/landing", SourceSpec("geojson", {"Height": "double"}, {}, "additive")
    )
    outcome = Outcome(SOUND, new_columns=dict.fromkeys(names, "string"))
    admitted, others = _new_columns(declared, [outcome])
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) for name in admitted)
    assert len({name.lower() for name in admitted} | {"height"}) == len(admitted) + 1
    assert bool(others) == (len(admitted) < len(names))


def test_new_columns_that_are_ddl_are_rescued() -> None:
    declared = Declaration(
        "landing.trees", "/landing", SourceSpec("geojson", {"height": "double"}, {}, "additive")
    )
    found = {
        "x` string, `y": "string",
        "select": "string",
        "HEIGHT": "double",
        "_row_id": "string",
        "Age": "int",
        "note": "struct<a`b:int>",
        "size": "struct<wide:double,high:double>",
    }
    later = Outcome(SOUND, new_columns={"age": "bigint"})
    admitted, others = _new_columns(declared, [Outcome(SOUND, new_columns=found), later])
    assert admitted == {"Age": "string", "size": "struct<wide:double,high:double>"}
    assert [name for name, _ in others] == ["'x` string, `y'", "'select'", "HEIGHT", "'_row_id'", "note"]
    twice = Outcome(SOUND, new_columns={"Age": "int", "AGE": "int"})
    assert _new_columns(declared, [twice])[0] == {}
