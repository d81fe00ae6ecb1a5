select
    event_id,
    device_id,
    speed_mps,
    battery_pct,
    lon,
    lat,
    event_ts,
    received_ts,
    _corrupt_record,
    {{ landed_columns() }}

from {{ source('landing', 'telemetry') }}

where {{ is_new_file('landing', 'telemetry') }}
