{{
    config(
        incremental_strategy='merge',
        unique_key='zone_id',
        merge_delete_when='source._row_id is null',
        merge_update_when='content',
    )
}}

with

newest as (

    {{ newest_versions('zones') }}

),

parsed as (

    select
        *,
        st_geomfromwkb(geometry) as geom

    from newest

)

select
    zone_id,
    zone_name,
    zone_type,
    source_crs,
    population,
    geometry,
    {{ bbox('geom') }} as bbox,
    {{ h3_cell('st_pointonsurface(geom)', var('h3_resolution')) }} as h3,
    updated_at,
    _source_file,
    _ingested_at,
    _batch_id,
    _row_id

from parsed
