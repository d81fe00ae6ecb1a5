with

telemetry_checked as (

    select * from {{ new_rows(ref('telemetry_checked')) }}

),

-- a repeated event is the same event: the first to land is kept
first_landed as (

    select
        *,
        row_number() over (
            partition by event_id order by _ingested_at asc, _row_id asc
        ) as landing_rank

    from telemetry_checked

    where size(failed_expectations) = 0

),

new_events as (

    select
        fresh.*,
        st_geomfromwkb(fresh.geometry) as geom

    from first_landed as fresh

    {% if is_incremental() %}
    left anti join {{ this }} as present
        on fresh.event_id = present.event_id
    {% endif %}

    where fresh.landing_rank = 1

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

from new_events
