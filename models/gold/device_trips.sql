{{ config(layout={'zorder': ['h3', 'event_date']}) }}

{%- set recomputed = recompute_dates(ref('telemetry'), 'event_ts') %}

with

telemetry as (

    select
        device_id,
        event_id,
        event_ts,
        geometry,
        date(event_ts) as event_date

    from {{ ref('telemetry') }}

),

events as (

    select * from telemetry

    where {{ recomputed }}

),

-- midnight (UTC) ends a trip, so that every trip lies in one day
trips as (

    select
        *,
        st_geomfromwkb(geometry) as line

    from {{ trips('events', 'device_id', 'event_ts', gap_s=1800, by='event_date', tie='event_id') }}

)

select
    concat_ws('-', device_id, event_date, trip_number) as trip_id,
    device_id,
    point_count as event_count,
    length_m,
    duration_s,
    geometry,
    {{ bbox('line') }} as bbox,
    {{ h3_cell('st_pointn(line, 1)', var('h3_resolution')) }} as h3,
    started_ts,
    ended_ts,
    event_date

from trips

-- a device that stayed in one place has made no trip
where st_geometrytype(line) = 'ST_LineString'
