{%- set recomputed = recompute_dates(ref('telemetry'), 'event_ts', [ref('zones')]) %}

with

visits as (

    select
        zone_id,
        device_id,
        date(event_ts) as event_date

    from {{ spatial_join(
        ref('telemetry'), ref('zones'), left_columns=['device_id', 'event_ts'], right_columns=['zone_id'],
        left_where=recomputed | replace('event_date', 'date(event_ts)')
    ) }}

)

select
    zone_id,
    count(*) as event_count,
    count(distinct device_id) as device_count,
    event_date

from visits

group by zone_id, event_date
