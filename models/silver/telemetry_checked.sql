with

landed as (

    select
        event_id,
        device_id,
        'EPSG:4326' as source_crs,
        speed_mps,
        battery_pct,
        lon is not null and lat is not null as has_geometry,
        st_asbinary(st_point(lon, lat)) as wkb,
        concat_ws(' ', lon, lat) as landed_geometry,
        event_ts,
        received_ts,
        _corrupt_record,
        _source_file,
        _ingested_at,
        _batch_id,
        _row_id

    from {{ new_rows(ref('raw_telemetry')) }}

),

located as (

    {{ located('landed') }}

)

select
    event_id,
    device_id,
    source_crs,
    speed_mps,
    battery_pct,
    st_asbinary(geometry_4326) as geometry,
    event_ts,
    received_ts,
    {{ failed_expectations() }} as failed_expectations,
    {{ failed_expectations('warn') }} as warned_expectations,
    coalesce(left(_corrupt_record, 200), landed_geometry) as landed_value,
    _source_file,
    _ingested_at,
    _batch_id,
    _row_id

from located
