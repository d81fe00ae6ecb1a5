"""The three models."""

from __future__ import annotations

from collections.abc import Sequence

from geostrata.add_source.choosing import Choices
from geostrata.add_source.naming import in_sql

_MAX_LINE = 100

_RAW = "select * from {{{{ landed_rows('landing', '{name}') }}}}\n"

_RENAMING_RAW = """\
-- Delta takes no blank, comma, bracket or = in a name
select
{columns}
    _source_crs,
    {{{{ landed_columns() }}}}

from {{{{ landed_rows('landing', '{name}') }}}}
"""

_CHECKED = """\
with

landed as (

    select
{landed}
        {{{{ landed_columns() }}}}

    from {{{{ rows_to_check(ref('raw_{name}')) }}}}

),

examined as (

    {{{{ examined('landed'{how}) }}}}

)

select
{checked}
    {{{{ checked_columns() }}}}

from examined
"""

_SILVER = """\
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

    {{{{ newest_versions('{name}') }}}}

),

parsed as (

    select
        *,
        st_geomfromwkb(geometry) as geom

    from newest

)

select
{columns}
    _source_file,
    _ingested_at,
    _batch_id,
    _row_id

from parsed
"""


def raw_sql(choices: Choices) -> str:
    if all(name == bronze for name, bronze in choices.bronze.items()):
        return _RAW.format(name=choices.name)
    columns = [_as(in_sql(name), in_sql(bronze)) for name, bronze in choices.bronze.items()]
    return _RENAMING_RAW.format(name=choices.name, columns=_lines(columns, 4))


def checked_sql(choices: Choices) -> str:
    return _CHECKED.format(
        name=choices.name,
        landed=_lines(_landed(choices), 8),
        how=", from_lonlat=true" if choices.geometry.is_lonlat else "",
        checked=_lines(_checked(choices), 4),
    )


def silver_sql(choices: Choices) -> str:
    point = "geom" if choices.geometry.is_points else "st_pointonsurface(geom)"
    names = _names(
        choices,
        [
            "geometry",
            "{{ bbox('geom') }} as bbox",
            f"{{{{ h3_cell('{point}', var('h3_resolution')) }}}} as h3",
        ],
    )
    return _SILVER.format(name=choices.name, key=choices.key, columns=_lines(names, 4))


def _landed(choices: Choices) -> list[str]:
    def group(*names: str) -> list[str]:
        return [_as(in_sql(column.bronze), column.silver) for column in choices.of_group(*names)]

    deleted = choices.deleted_column
    return [
        _key(choices),
        *group("text"),
        choices.crs.sql,
        *group("number", "boolean"),
        *([_as(in_sql(choices.bronze[deleted]), "is_deleted")] if deleted else []),
        *_geometry(choices),
        *group("time"),
        _time(choices),
    ]


def _checked(choices: Choices) -> list[str]:
    deleted = "coalesce(is_deleted, false)" if choices.deleted_column else "false"
    return _names(choices, [f"{deleted} as is_deleted", "geometry"])


def _names(choices: Choices, space: list[str]) -> list[str]:
    def group(*names: str) -> list[str]:
        return [column.silver for column in choices.of_group(*names)]

    return [
        choices.key,
        *group("text"),
        "source_crs",
        *group("number", "boolean"),
        *space,
        *group("time"),
        "updated_at",
    ]


def _key(choices: Choices) -> str:
    column = choices.key_column
    if column is None:
        return f"concat(_source_file, '#', _source_row) as {choices.key}"
    value = in_sql(choices.bronze[column])
    if value == choices.key and choices.landed[column] == "string":
        return choices.key
    return f"string({value}) as {choices.key}"


def _geometry(choices: Choices) -> list[str]:
    columns = choices.geometry.columns
    if not choices.geometry.is_lonlat:
        return [_as(in_sql(choices.bronze[columns[0]]), "landed_geometry")]
    values = [
        in_sql(choices.bronze[column])
        if choices.landed[column] == "double"
        else f"double({in_sql(choices.bronze[column])})"
        for column in columns
    ]
    return [_as(values[0], "lon"), _as(values[1], "lat")]


def _time(choices: Choices) -> str:
    column = choices.time_column
    if column is None:
        return "_source_mtime as updated_at"
    value = in_sql(choices.bronze[column])
    if choices.landed[column] != "timestamp":
        value = f"cast({value} as timestamp)"
    return _as(f"coalesce({value}, _source_mtime)" if choices.time_may_lack else value, "updated_at")


def _as(value: str, name: str) -> str:
    return name if value == name else f"{value} as {name}"


def _lines(items: Sequence[str], depth: int) -> str:
    lines = [f"{' ' * depth}{item}," for item in items]
    # A landed name can't be made shorter, and broken over lines it would not be found again.
    return "\n".join(line if len(line) <= _MAX_LINE else f"{line}  -- noqa: LT05" for line in lines)
