{{ config(layout={'zorder': ['h3', 'event_date']}) }}

{%- set recomputed = recompute_dates(ref('telemetry'), 'event_ts') %}

with

telemetry as (

    select
        device_id,
        h3,
        date(event_ts) as event_date

    from {{ ref('telemetry') }}

),

events as (

    select * from telemetry

    where {{ recomputed }}

)

-- 9 is what silver stores, about 0.1 km2 per cell; 8 and 7 are seven and forty-nine times as large
select
    h3,
    resolution,
    event_count,
    device_count,
    event_date

from {{ rollup_cells(
    'events',
    resolutions=[7, 8, 9],
    aggregates={'event_count': 'count(*)', 'device_count': 'count(distinct device_id)'},
    by=['event_date'],
) }}
