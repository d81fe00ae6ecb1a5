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

-- 9 is what silver stores, about 0.1 km2 a cell; 8 and 7 are seven and forty-nine times as large
cells as (

    select
        telemetry.device_id,
        telemetry.event_date,
        cell.resolution,
        cell.h3

    from telemetry

        lateral view inline(array(
            struct(7 as resolution, {{ h3_parent('h3', 7) }} as h3),
            struct(8 as resolution, {{ h3_parent('h3', 8) }} as h3),
            struct(9 as resolution, {{ h3_parent('h3', 9) }} as h3)
        )) cell as resolution, h3

    where {{ recomputed }}

)

select
    h3,
    resolution,
    count(*) as event_count,
    count(distinct device_id) as device_count,
    event_date

from cells

group by h3, resolution, event_date
