{%- set recomputed = recompute_dates(ref('telemetry'), 'event_ts', [ref('zones')]) %}

with

telemetry as (

    select
        device_id,
        date(event_ts) as event_date,
        st_geomfromwkb(geometry) as point

    from {{ ref('telemetry') }}

),

zones as (

    select
        zone_id,
        st_geomfromwkb(geometry) as shape

    from {{ ref('zones') }}

),

recomputed_events as (

    select * from telemetry
    where {{ recomputed }}

),

visits as (

    select /*+ broadcast(zones) */
        zones.zone_id,
        recomputed_events.device_id,
        recomputed_events.event_date

    from recomputed_events

    inner join zones
        on st_intersects(zones.shape, recomputed_events.point)

)

select
    zone_id,
    count(*) as event_count,
    count(distinct device_id) as device_count,
    event_date

from visits

group by zone_id, event_date
