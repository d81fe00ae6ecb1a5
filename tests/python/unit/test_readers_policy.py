"""How much a file may differ from what its source declares."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reader_files as files

from geostrata.errors import GeostrataError
from geostrata.readers import Refused, SourceSpec, check, landed

ALL = sorted(files.FORMATS)


def spec(ending: str, policy: str, without: str | None = None, **more: str) -> SourceSpec:
    columns = {**files.spec_for(ending).columns, **more}
    columns.pop(without or "", None)
    return SourceSpec(files.FORMATS[ending], columns, schema_policy=policy)


@pytest.mark.parametrize("ending", ALL)
@pytest.mark.parametrize("policy", ["strict", "additive", "rescue"])
def test_what_is_declared_exactly_passes(tmp_path: Path, ending: str, policy: str) -> None:
    assert len(files.rows_of(files.write_any(tmp_path, ending), spec(ending, policy))) == 20


@pytest.mark.parametrize("ending", ALL)
def test_a_new_column(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    with pytest.raises(Refused, match=r"column area is new; declare it, or set schema_policy: additive"):
        files.rows_of(path, spec(ending, "strict", without="area"))
    for policy in ("additive", "rescue"):
        rows = files.rows_of(path, spec(ending, policy, without="area"))
        assert all(float(json.loads(row["_rescued"])["area"]) == row["id"] / 4 for row in rows)


@pytest.mark.parametrize("ending", ALL)
def test_a_missing_column(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    for policy in ("strict", "additive"):
        with pytest.raises(Refused, match="column owner is missing; deliver it"):
            files.rows_of(path, spec(ending, policy, owner="string"))
    rows = files.rows_of(path, spec(ending, "rescue", owner="string"))
    assert [row["owner"] for row in rows] == [None] * 20


@pytest.mark.parametrize("ending", ALL)
def test_an_optional_column_may_be_missing(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    columns = {**files.spec_for(ending).columns, "owner": "string"}
    wanted = SourceSpec(files.FORMATS[ending], columns, schema_policy="additive", optional=("owner",))
    check(landed(path), wanted)
    assert [row["owner"] for row in files.rows_of(path, wanted)] == [None] * 20


@pytest.mark.parametrize("ending", ["shp", "gpkg", "fgb", "parquet"])
def test_a_retyped_column(tmp_path: Path, ending: str) -> None:
    path = files.write_any(tmp_path, ending)
    for policy in ("strict", "additive"):
        kind = "decimal(24,15)" if ending == "shp" else "double"
        with pytest.raises(
            Refused, match=re.escape(f"column area is {kind} in the file and int in the source")
        ):
            check(landed(path), spec(ending, policy, area="int"))
        with pytest.raises(Refused, match="column name is string in the file and bigint in the source"):
            check(landed(path), spec(ending, policy, name="bigint"))
    for row in files.rows_of(path, spec(ending, "rescue", area="int", name="bigint")):
        rescued = json.loads(row["_rescued"])
        assert (row["name"], rescued["name"]) == (None, f"Straße {row['id']}")
        assert row["area"] == (row["id"] // 4 if row["id"] % 4 == 0 else None)
        assert float(rescued.get("area", 0)) == (0 if row["id"] % 4 == 0 else row["id"] / 4)


@pytest.mark.parametrize(
    ("kind", "declared", "passes"),
    [
        (pa.int32(), "bigint", True),
        (pa.int32(), "double", True),
        (pa.int64(), "double", False),
        (pa.int64(), "int", False),
        (pa.uint32(), "int", False),
        (pa.uint32(), "bigint", True),
        (pa.int64(), "decimal(20,0)", True),
        (pa.float32(), "double", True),
        (pa.float64(), "float", False),
        (pa.decimal128(10, 2), "decimal(12,2)", True),
        (pa.decimal128(10, 2), "decimal(10,3)", False),
        (pa.timestamp("ms"), "timestamp", True),
        (pa.timestamp("us", tz="UTC"), "timestamp_ntz", False),
        (pa.date32(), "timestamp", True),
        (pa.large_string(), "string", True),
        (pa.large_binary(), "binary", True),
        (pa.binary(), "string", False),
        (pa.null(), "date", True),
        (pa.bool_(), "int", False),
        (pa.list_(pa.int32()), "array<int>", True),
        (pa.dictionary(pa.int8(), pa.string()), "string", True),
    ],
    ids=str,
)
def test_which_types_are_wide_enough(tmp_path: Path, kind: pa.DataType, declared: str, passes: bool) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"c": pa.nulls(2, kind)}), path)
    strict = SourceSpec("parquet", {"c": declared}, schema_policy="strict")
    if passes:
        assert len(files.rows_of(path, strict)) == 2
    else:
        with pytest.raises(Refused, match="column c is"):
            files.rows_of(path, strict)


def test_a_declared_extra_comes_once(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "csv")
    rows = files.rows_of(path, spec("csv", "strict", _corrupt_record="string"))
    assert list(rows[0])[-4:] == ["_source_position", "_source_crs", "_corrupt_record", "_rescued"]


def test_a_source_that_makes_no_sense() -> None:
    with pytest.raises(GeostrataError, match=r"format must be one of csv, .* got 'dwg'"):
        SourceSpec("dwg")
    with pytest.raises(
        GeostrataError, match="schema_policy must be one of strict, additive, rescue, got 'lax'"
    ):
        SourceSpec("csv", schema_policy="lax")


def test_a_type_that_makes_no_sense(tmp_path: Path) -> None:
    path = files.write_any(tmp_path, "csv")
    with pytest.raises(GeostrataError, match=r"column id: type must be one of .* got 'money'"):
        files.rows_of(path, SourceSpec("csv", {"id": "money"}))
