{{
    config(
        incremental_strategy='merge',
        unique_key='event_id',
        merge_delete_when='source._row_id is null',
        merge_update_when='content',
    )
}}

with

-- a repeated event is the same event: the first to be received is kept
events as (

    {{ newest_versions('telemetry') }}

),

parsed as (

    select
        *,
        st_geomfromwkb(geometry) as geom

    from events

)

select
    event_id,
    device_id,
    source_crs,
    speed_mps,
    battery_pct,
    geometry,
    {{ bbox('geom') }} as bbox,
    {{ h3_cell('geom', var('h3_resolution')) }} as h3,
    event_ts,
    received_ts,
    _source_file,
    _ingested_at,
    _batch_id,
    _row_id

from parsed
