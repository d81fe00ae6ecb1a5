"""The models of the small project, as files: `things` from nine formats, `signs` with every kind of expectation, `stops` as snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from geostrata.readers.spec import FORMATS

TEXT_FORMATS = ("csv", "geojson", "geojsonl", "jsonl")
ENTITIES = {
    "things": {
        "key": "thing_id",
        "landed": [f"raw_things_{name}" for name in FORMATS],
        "newest": "seen_at desc",
    },
    "signs": {"key": "sign_id", "landed": ["raw_signs"], "newest": "updated_at desc"},
    "stops": {"key": "stop_id", "landed": ["raw_stops"], "delivery": "snapshot"},
}
SIGN_EXPECTATIONS: list[dict[str, Any]] = [
    {"name": "key_present"},
    {"name": "geometry_present"},
    {"name": "geometry_readable"},
    {"name": "geometry_valid", "repair": True, "max_area_change": 0.2},
    {"name": "geometry_type_allowed", "types": ["Point", "Polygon", "MultiPolygon"]},
    {"name": "crs_known"},
    {"name": "coordinates_within_crs"},
    {"name": "within_extent", "extent": "town"},
    {"name": "height_sane", "check": "height_m < 100", "on_violation": "fail"},
    {"name": "height_given", "check": "height_m is not null", "on_violation": "warn"},
]
THING_EXPECTATIONS = [
    {"name": name}
    for name in (
        "key_present",
        "geometry_present",
        "geometry_readable",
        "geometry_not_empty",
        "geometry_valid",
        "crs_known",
        "coordinates_within_crs",
    )
]
STOP_EXPECTATIONS = [{"name": name} for name in ("key_present", "geometry_present", "coordinates_within_crs")]

_RAW = "select * from {{{{ landed_rows('landing', '{table}') }}}}\n"
_CHECKED = """
with

landed as (

{landed}

),

examined as (

    {{{{ examined('landed'{lonlat}) }}}}

)

select
    {columns},
    geometry,
    {{{{ checked_columns() }}}}

from examined
"""
_LANDED = """
    select
        {columns},
        {{{{ landed_columns() }}}}
    from {{{{ rows_to_check(ref('{raw}')) }}}}
"""
_ENTITY = """
{{{{
    config(
        incremental_strategy='merge',
        unique_key='{key}',
        merge_delete_when='source._row_id is null',
        merge_update_when='content',
    )
}}}}

with

newest as (

    {{{{ newest_versions('{entity}') }}}}

),

parsed as (

    select
        *,
        st_geomfromwkb(geometry) as geom

    from newest

)

select
    {columns},
    geometry,
    {{{{ bbox('geom') }}}} as bbox,
    {{{{ h3_cell('st_pointonsurface(geom)', var('h3_resolution')) }}}} as h3,
    is_repaired,
    _source_file,
    _source_position,
    _ingested_at,
    _batch_id,
    _row_id

from parsed
"""


def write_models(models: Path) -> None:
    tables = [_things(name) for name in FORMATS]
    tables.append(
        _source(
            "signs",
            "csv",
            {
                "sign_id": "string",
                "label": "string",
                "height_m": "double",
                "is_deleted": "boolean",
                "updated_at": "timestamp",
                "geometry": "string",
            },
        )
    )
    # Of `signs`, key and expectations stand with the source; of the others with the checked model.
    tables[-1]["config"] = {"meta": {"key": "sign_id", "expectations": SIGN_EXPECTATIONS}}
    tables.append(_source("stops", "csv", {"stop_id": "string", "lon": "double", "lat": "double"}))
    write_yaml(
        models / "_sources.yml", {"sources": [{"name": "landing", "schema": "landing", "tables": tables}]}
    )
    for table in tables:
        write_model(models / f"bronze/raw_{table['name']}.sql", _RAW.format(table=table["name"]))
    growing = "{{ config(on_schema_change='append_new_columns') }}\n\n" + _RAW.format(table="signs")
    write_model(models / "bronze/raw_signs.sql", growing)
    _write_silver(models / "silver")


def _write_silver(silver: Path) -> None:
    things = [
        "thing_id",
        "name",
        "amount",
        "seen_at",
        "coalesce(trim(crs), _source_crs) as source_crs",
        "cast(geometry as binary) as landed_geometry",
    ]
    write_checked(
        silver,
        "things",
        [f"raw_things_{name}" for name in FORMATS],
        things,
        ["thing_id", "name", "source_crs", "amount", "false as is_deleted", "seen_at"],
    )
    write_entity(silver, "things", "thing_id", ["thing_id", "name", "amount", "source_crs", "seen_at"])
    signs = ["sign_id", "label", "height_m", "is_deleted", "updated_at"]
    write_checked(
        silver,
        "signs",
        ["raw_signs"],
        [*signs, "'EPSG:4326' as source_crs", "geometry as landed_geometry"],
        ["sign_id", "label", "height_m", "coalesce(is_deleted, false) as is_deleted", "updated_at"],
    )
    write_entity(silver, "signs", "sign_id", ["sign_id", "label", "height_m", "updated_at"])
    write_checked(
        silver,
        "stops",
        ["raw_stops"],
        ["stop_id", "'EPSG:4326' as source_crs", "lon", "lat"],
        ["stop_id", "false as is_deleted", "_source_mtime as updated_at"],
        from_lonlat=True,
    )
    write_entity(silver, "stops", "stop_id", ["stop_id"])
    write_yaml(
        silver / "_silver.yml",
        {
            "models": [
                {"name": "things_checked", "config": _meta("thing_id", THING_EXPECTATIONS)},
                {"name": "stops_checked", "config": _meta("stop_id", STOP_EXPECTATIONS)},
            ]
        },
    )


def _things(name: str) -> dict[str, Any]:
    columns = {
        "thing_id": "string",
        "name": "string",
        "amount": "double",
        "seen_at": "timestamp",
        "crs": "string",
        "geometry": "string" if name in TEXT_FORMATS else "binary",
    }
    return _source(f"things_{name}", name, columns, f"things/{name}")


def _source(
    name: str, file_format: str, columns: dict[str, str], folder: str | None = None
) -> dict[str, Any]:
    return {
        "name": name,
        "external": {
            "location": "{{ var('landing') }}/" + (folder or name),
            "file_format": file_format,
        },
        "columns": [{"name": column, "data_type": kind} for column, kind in columns.items()],
    }


def _meta(key: str, expectations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"meta": {"key": key, "expectations": expectations}}


def write_checked(
    silver: Path,
    entity: str,
    raws: list[str],
    landed: list[str],
    checked: list[str],
    from_lonlat: bool = False,
) -> None:
    rows = [_LANDED.format(raw=raw, columns=",\n        ".join(landed)).strip("\n") for raw in raws]
    text = _CHECKED.format(
        landed="\n    union all\n".join(rows),
        columns=",\n    ".join(checked),
        lonlat=", from_lonlat=true" if from_lonlat else "",
    )
    write_model(silver / f"{entity}_checked.sql", text)


def write_entity(silver: Path, entity: str, key: str, columns: list[str]) -> None:
    write_model(
        silver / f"{entity}.sql", _ENTITY.format(entity=entity, key=key, columns=",\n    ".join(columns))
    )


def write_model(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.lstrip("\n"))


def write_yaml(path: Path, content: dict[str, Any]) -> None:
    write_model(path, yaml.safe_dump({"version": 2, **content}, sort_keys=False))
