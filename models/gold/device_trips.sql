{{ config(layout={'zorder': ['h3', 'event_date']}) }}

{%- set recomputed = recompute_dates(ref('telemetry'), 'event_ts') %}

with

telemetry as (

    select
        device_id,
        event_id,
        event_ts,
        h3,
        geometry,
        date(event_ts) as event_date

    from {{ ref('telemetry') }}

),

steps as (

    select
        *,
        lag(event_ts) over (
            partition by device_id, event_date order by event_ts asc, event_id asc
        ) as previous_ts

    from telemetry

    where {{ recomputed }}

),

-- thirty minutes of silence end a trip; so does midnight (UTC), which keeps every trip in one day
numbered as (

    select
        *,
        sum(case when event_ts <= previous_ts + interval 30 minutes then 0 else 1 end) over (
            partition by device_id, event_date order by event_ts asc, event_id asc
        ) as trip_number

    from steps

),

trips as (

    select
        device_id,
        event_date,
        trip_number,
        min(event_ts) as started_ts,
        max(event_ts) as ended_ts,
        count(*) as event_count,
        min_by(h3, struct(event_ts, event_id)) as h3,
        array_sort(collect_list(struct(event_ts, event_id, geometry))) as positions

    from numbered

    group by device_id, event_date, trip_number

    having count(*) > 1

),

drawn as (

    select
        *,
        st_makeline(transform(positions, position -> st_geomfromwkb(position.geometry))) as line

    from trips

)

select
    concat_ws('-', device_id, event_date, trip_number) as trip_id,
    device_id,
    event_count,
    st_lengthspheroid(line) as length_m,
    unix_timestamp(ended_ts) - unix_timestamp(started_ts) as duration_s,
    st_asbinary(line) as geometry,
    {{ bbox('line') }} as bbox,
    h3,
    started_ts,
    ended_ts,
    event_date

from drawn
