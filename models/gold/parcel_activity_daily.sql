{{ config(layout={'zorder': ['parcel_id', 'event_date']}) }}

{%- set recomputed = recompute_dates(ref('telemetry'), 'event_ts', [ref('parcels')]) %}

with

telemetry as (

    select
        device_id,
        date(event_ts) as event_date,
        st_geomfromwkb(geometry) as point

    from {{ ref('telemetry') }}

),

parcels as (

    select
        parcel_id,
        st_geomfromwkb(geometry) as shape

    from {{ ref('parcels') }}

),

recomputed_events as (

    select * from telemetry
    where {{ recomputed }}

),

-- an event on a border belongs to each parcel that it touches
visits as (

    select
        parcels.parcel_id,
        recomputed_events.device_id,
        recomputed_events.event_date

    from recomputed_events

    inner join parcels
        on st_intersects(parcels.shape, recomputed_events.point)

)

select
    parcel_id,
    count(*) as event_count,
    count(distinct device_id) as device_count,
    event_date

from visits

group by parcel_id, event_date
