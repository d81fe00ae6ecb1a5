"""The dbt project as its manifest has it: everything described, tested, and joined up as the house rules ask. No Spark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = "geostrata"
KEY_TESTS = {"is_key", "unique", "unique_together"}
# By the singular test every_landed_row_is_accounted_for.
KEYS_TESTED_ELSEWHERE = {"row_ledger"}

Node = dict[str, Any]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    # In a process of its own, since dbt keeps its settings in globals; `--warn-error`: a clean project warns of nothing.
    folder = tmp_path_factory.mktemp("parse")
    places = ["--project-dir", ROOT, "--profiles-dir", ROOT / "profiles", "--target-path", folder]
    done = subprocess.run(
        [Path(sys.executable).parent / "dbt", "--warn-error", "--log-path", folder, "parse", *places],
        cwd=ROOT,
        env=os.environ | {"GEOSTRATA_STATE": str(folder / "state")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    loaded: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return loaded


def ours(things: dict[str, Node], *kinds: str) -> list[Node]:
    return [
        thing
        for thing in things.values()
        if thing["package_name"] == PACKAGE and (not kinds or thing["resource_type"] in kinds)
    ]


def models(manifest: dict[str, Any], layer: str | None = None) -> list[Node]:
    found = [node for node in ours(manifest["nodes"], "model") if layer in (None, node["fqn"][1])]
    assert found, f"no models in {layer}"
    return found


def checks_of(manifest: dict[str, Any], node: Node) -> list[Node]:
    """Tests attached to a node, and those across models that read it."""
    return [
        test
        for test in ours(manifest["nodes"], "test")
        if test.get("attached_node") == node["unique_id"]
        or (test.get("test_metadata") is None and node["unique_id"] in test["depends_on"]["nodes"])
    ]


def undescribed(things: list[Node]) -> Iterator[str]:
    for thing in things:
        if not thing["description"].strip():
            yield thing["unique_id"]
        for name, column in thing.get("columns", {}).items():
            if not column["description"].strip():
                yield f"{thing['unique_id']}.{name}"


def test_every_table_and_column_is_described(manifest: dict[str, Any]) -> None:
    tables = ours(manifest["nodes"], "model", "seed", "snapshot") + ours(manifest["sources"])
    assert [table["unique_id"] for table in tables if not table["columns"]] == []
    assert list(undescribed(tables)) == []
    assert [source["name"] for source in ours(manifest["sources"]) if not source["source_description"]] == []


def test_every_test_and_exposure_is_described(manifest: dict[str, Any]) -> None:
    things = ours(manifest["nodes"], "test") + ours(manifest["exposures"])
    assert list(undescribed(things)) == []


def test_every_public_macro_is_described_with_its_arguments(manifest: dict[str, Any]) -> None:
    macros = [macro for macro in ours(manifest["macros"]) if not macro["name"].startswith("_")]
    assert macros
    assert list(undescribed(macros)) == []
    bare = [
        f"{macro['name']}({argument['name']})"
        for macro in macros
        for argument in macro["arguments"]
        if not argument["type"] or not argument["description"].strip()
    ]
    assert bare == []


def test_the_docs_begin_with_an_overview_of_our_own(manifest: dict[str, Any]) -> None:
    assert f"doc.{PACKAGE}.__overview__" in manifest["docs"]


def test_a_first_sentence_says_what_a_row_is(manifest: dict[str, Any]) -> None:
    tables = ours(manifest["nodes"], "model", "seed", "snapshot") + ours(manifest["sources"])
    assert [
        table["name"] for table in tables if not re.match(r"One row per .+\.", table["description"])
    ] == []


def test_every_table_of_ours_has_a_key_test(manifest: dict[str, Any]) -> None:
    without = [
        node["name"]
        for node in ours(manifest["nodes"], "model", "seed", "snapshot")
        if node["name"] not in KEYS_TESTED_ELSEWHERE
        and not KEY_TESTS
        & {test["test_metadata"]["name"] for test in checks_of(manifest, node) if test.get("test_metadata")}
    ]
    assert without == []


def test_every_model_has_a_test_that_speaks_of_its_subject(manifest: dict[str, Any]) -> None:
    def is_of_a_key(test: Node) -> bool:
        metadata = test.get("test_metadata")
        if metadata is None:
            return False
        return metadata["name"] in KEY_TESTS

    without = [
        node["name"]
        for node in models(manifest)
        if all(is_of_a_key(test) for test in checks_of(manifest, node))
    ]
    assert without == []


def test_every_source_is_read_once_and_by_bronze(manifest: dict[str, Any]) -> None:
    readers = Counter(
        parent
        for node in models(manifest)
        for parent in node["depends_on"]["nodes"]
        if parent.startswith("source.")
    )
    assert readers == dict.fromkeys((source["unique_id"] for source in ours(manifest["sources"])), 1)
    outside = [
        node["name"]
        for node in models(manifest)
        if node["fqn"][1] != "bronze"
        and any(parent.startswith("source.") for parent in node["depends_on"]["nodes"])
    ]
    assert outside == []


def test_every_source_says_whose_it_is_and_what_its_geometry_is(manifest: dict[str, Any]) -> None:
    wanted = {"owner", "licence", "crs", "geometry_type", "freshness"}
    lacking = {
        source["name"]: sorted(wanted - source["config"]["meta"].keys())
        for source in ours(manifest["sources"])
        if not wanted <= source["config"]["meta"].keys()
    }
    assert lacking == {}


# Tables that macros and `geostrata` append to, at the end of a run or when a person asks: they rest on no other table.
FILLED_BY_MACROS = {
    "check_runs",
    "forget_log",
    "maintenance_log",
    "release_requests",
    "repair_log",
    "table_health",
}


def test_every_model_has_a_parent(manifest: dict[str, Any]) -> None:
    orphans = {node["name"] for node in models(manifest) if not node["depends_on"]["nodes"]}
    assert orphans == FILLED_BY_MACROS


def test_no_refresh_empties_what_cannot_be_made_again(manifest: dict[str, Any]) -> None:
    """By what a table is, not by its name: a new log that forgets to say so is found."""
    tables = [
        node for node in models(manifest) if node["config"]["materialized"] not in ("view", "ephemeral")
    ]

    def reads(node: Node, kind: str) -> bool:
        return any(parent.startswith(kind) for parent in node["depends_on"]["nodes"])

    def is_append_only(node: Node) -> bool:
        return node["config"]["tblproperties"].get("delta.appendOnly") == "true"

    # Who reads files can read them again. Who reads nothing is filled by others, and a table of commits outlives their log.
    logs = {
        node["name"]
        for node in tables
        if not reads(node, "source.") and (not node["depends_on"]["nodes"] or is_append_only(node))
    }
    assert logs == FILLED_BY_MACROS | {"changes"}
    kept = {node["name"] for node in tables if node["config"]["full_refresh"] is False}
    assert kept == logs
    # A column that is new in a log comes without a refresh that empties it.
    odd = [node["name"] for node in tables if node["name"] in logs and not is_append_only(node)]
    odd += [
        node["name"]
        for node in tables
        if node["name"] in logs and node["config"]["on_schema_change"] != "append_new_columns"
    ]
    assert odd == []


def hard_coded(sql: str) -> list[str]:
    """Names after `from` and `join` that are neither a ref() or source() nor a CTE of the same file."""
    sql = re.sub(r"\{#.*?#\}|--[^\n]*", " ", sql, flags=re.DOTALL)
    # A jinja expression stands for one name.
    sql = re.sub(r"\{%.*?%\}", " ", sql, flags=re.DOTALL)
    sql = re.sub(r"\{\{.*?\}\}", "{}", sql, flags=re.DOTALL)
    ctes = set(re.findall(r"\b(\w+)\s+as\s+\(", sql))
    return [name for name in re.findall(r"\b(?:from|join)\s+([\w.`]+)", sql) if name not in ctes]


def test_no_model_names_a_table_itself(manifest: dict[str, Any]) -> None:
    found = {node["name"]: hard_coded(node["raw_code"]) for node in models(manifest)}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("with a as (select 1) select * from a", []),
        ("select * from {{ ref('parcels') }} as parcels -- from silver", []),
        ("select * from silver.parcels", ["silver.parcels"]),
        ("select * from {{ ref('a') }} inner join parcels on true", ["parcels"]),
    ],
)
def test_a_table_named_by_hand_is_found(sql: str, found: list[str]) -> None:
    assert hard_coded(sql) == found


def test_gold_is_public_with_an_enforced_contract(manifest: dict[str, Any]) -> None:
    gold = {
        node["name"]: (node["access"], node["config"]["contract"]["enforced"])
        for node in models(manifest, "gold")
    }
    assert gold == dict.fromkeys(gold, ("public", True))


def test_exposures_rest_on_public_models(manifest: dict[str, Any]) -> None:
    exposures = ours(manifest["exposures"])
    assert exposures
    parents = [parent for exposure in exposures for parent in exposure["depends_on"]["nodes"]]
    assert parents
    assert [name for name in parents if manifest["nodes"][name].get("access") != "public"] == []


def test_every_key_of_the_checked_models_is_one_of_their_columns(manifest: dict[str, Any]) -> None:
    checked = [node for node in models(manifest, "silver") if node["name"].endswith("_checked")]
    assert checked
    assert [
        node["name"] for node in checked if node["config"]["meta"].get("key") not in node["columns"]
    ] == []
