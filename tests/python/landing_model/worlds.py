"""The dbt project of the model: several worlds, each an entity with its own source and gold, so that one run is a step of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oracle import Oracle
from project_files import write_checked, write_entity, write_model, write_yaml

SIGNS = ("signs_1", "signs_2", "signs_3", "signs_4")
STOPS = ("stops_1", "stops_2")
WORLDS = (*SIGNS, *STOPS)

# In the order in which they are built; the entity itself has no suffix. Every way to be incremental is there twice, and no world pays for all.
_COMMON = ("raw", "checked", "entity")
_GOLD_OF = {
    **dict.fromkeys(("signs_1", "signs_3"), ("places", "daily")),
    **dict.fromkeys(("signs_2", "signs_4"), ("verdicts", "summary")),
    **dict.fromkeys(STOPS, ("summary",)),
}
_GOLD = {
    "places": """
{{{{ config(incremental_strategy='merge', unique_key='sign_id', merge_delete_when='source.label is null') }}}}

select
    touched.sign_id,
    {label} as label,
    now.height_m

from {{{{ changed_values(ref('{entity}'), 'sign_id', 'sign_id') }}}} as touched

left join {{{{ ref('{entity}') }}}} as now
    on touched.sign_id = now.sign_id
""",
    "verdicts": """
{{{{ config(incremental_strategy='merge', unique_key='_row_id') }}}}

select
    _row_id,
    array_join(failed_expectations, ',') as reasons,
    '{variant}' as variant

from {{{{ new_rows(ref('{entity}_checked')) }}}}
""",
    "daily": """
{{%- set recomputed = recompute_dates(ref('{entity}'), 'updated_at') %}}

select
    count(*) as sign_count,
    sum(height_m) * {variant} as height_sum,
    event_date

from (select *, date(updated_at) as event_date from {{{{ ref('{entity}') }}}})

where {{{{ recomputed }}}}

group by event_date
""",
    "summary": """
{{%- do recompute_if_changed([ref('{entity}')]) %}}

select count(*) * {variant} as key_count from {{{{ ref('{entity}') }}}}
""",
}


def kind_of(world: str) -> str:
    return world.split("_")[0]


def models_of(world: str) -> tuple[str, ...]:
    return (*_COMMON, *_GOLD_OF[world])


def model_name(world: str, model: str) -> str:
    names = {"raw": f"raw_{world}", "entity": world}
    return names.get(model, f"{world}_{model}")


def table_name(world: str, model: str) -> str:
    schema = {"raw": "bronze", "checked": "silver", "entity": "silver"}.get(model, "gold")
    return f"{schema}.{model_name(world, model)}"


def entities() -> dict[str, Any]:
    return {
        world: {"key": "sign_id", "landed": [f"raw_{world}"], "newest": "updated_at desc"}
        if kind_of(world) == "signs"
        else {"key": "stop_id", "landed": [f"raw_{world}"], "delivery": "snapshot"}
        for world in WORLDS
    }


def write_models(models: Path) -> None:
    for world in WORLDS:
        oracle = Oracle(kind_of(world) == "stops")
        write_source(models, world, oracle)
        for model in models_of(world):
            write_one(models, world, model, oracle)


def write_source(models: Path, world: str, oracle: Oracle) -> None:
    """Columns, policy and expectations, as the oracle has them."""
    if oracle.is_snapshot:
        columns = {"stop_id": "string", "lon": "double", "lat": "double"}
        expectations: list[dict[str, Any]] = [
            {"name": "key_present"},
            {"name": "geometry_present"},
            {"name": "coordinates_within_crs"},
            {"name": "height_sane", "check": f"lon < 15 + {oracle.below} / 100.0 - 0.005"},
        ]
    else:
        columns = {
            "sign_id": "string",
            "label": "string",
            "height_m": "double",
            "is_deleted": "boolean",
            "updated_at": "timestamp",
            "geometry": "string",
        }
        expectations = [
            {"name": "key_present"},
            {"name": "geometry_present"},
            {"name": "geometry_readable"},
            {"name": "geometry_valid"},
            {"name": "geometry_type_allowed", "types": ["Point"]},
            {"name": "crs_known"},
            {"name": "coordinates_within_crs"},
            {"name": "within_extent", "extent": world},
            {"name": "height_sane", "check": f"height_m < {oracle.below}"},
        ]
    table = {
        "name": world,
        "external": {
            "location": "{{ var('landing') }}/" + world,
            "file_format": "csv",
            "schema_policy": oracle.policy,
        },
        "columns": [{"name": column, "data_type": kind} for column, kind in columns.items()],
        "config": {
            "meta": {"key": "stop_id" if oracle.is_snapshot else "sign_id", "expectations": expectations}
        },
    }
    source = {"name": f"landing_{world}", "schema": "landing", "tables": [table]}
    write_yaml(models / f"_{world}.yml", {"sources": [source]})


def write_one(models: Path, world: str, model: str, oracle: Oracle) -> None:
    variant = oracle.variant(model)
    if model == "raw":
        growing = "{{ config(on_schema_change='append_new_columns') }}\n\n"
        text = f"select * from {{{{ landed_rows('landing_{world}', '{world}') }}}}\n"
        write_model(models / f"bronze/raw_{world}.sql", growing + text)
    elif model == "checked" and oracle.is_snapshot:
        landed = ["stop_id", "'EPSG:4326' as source_crs", "lon", "lat"]
        checked = ["stop_id", "false as is_deleted", "_source_mtime as updated_at"]
        write_checked(models / "silver", world, [f"raw_{world}"], landed, checked, from_lonlat=True)
    elif model == "checked":
        columns = ["sign_id", "label", "height_m", "is_deleted", "updated_at"]
        landed = [*columns, "'EPSG:4326' as source_crs", "geometry as landed_geometry"]
        height = "height_m" if variant == 1 else f"height_m * {variant} as height_m"
        checked = ["sign_id", "label", height, "coalesce(is_deleted, false) as is_deleted", "updated_at"]
        write_checked(models / "silver", world, [f"raw_{world}"], landed, checked)
    elif model == "entity" and oracle.is_snapshot:
        write_entity(models / "silver", world, "stop_id", ["stop_id", f"'{variant}' as label"])
    elif model == "entity":
        label = "label" if variant == 1 else f"concat(label, '{variant}') as label"
        write_entity(models / "silver", world, "sign_id", ["sign_id", label, "height_m", "updated_at"])
    else:
        label = "now.label" if variant == 1 else "concat(now.label, '!')"
        text = _GOLD[model].format(entity=world, variant=variant, label=label)
        write_model(models / f"gold/{world}_{model}.sql", text)
