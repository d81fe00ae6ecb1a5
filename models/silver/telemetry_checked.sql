with

landed as (

    select
        event_id,
        device_id,
        'EPSG:4326' as source_crs,
        speed_mps,
        battery_pct,
        lon,
        lat,
        event_ts,
        received_ts,
        {{ landed_columns() }}

    from {{ rows_to_check(ref('raw_telemetry')) }}

),

examined as (

    {{ examined('landed', from_lonlat=true) }}

)

select
    event_id,
    device_id,
    source_crs,
    speed_mps,
    battery_pct,
    false as is_deleted,
    geometry,
    event_ts,
    received_ts,
    {{ checked_columns() }}

from examined
