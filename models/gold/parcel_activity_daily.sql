{{ config(layout={'zorder': ['parcel_id', 'event_date']}) }}

{%- set recomputed = recompute_dates(ref('telemetry'), 'event_ts', [ref('parcels')]) %}

with

-- an event on a border belongs to each parcel that it touches
visits as (

    select
        parcel_id,
        device_id,
        date(event_ts) as event_date

    from {{ spatial_join(
        ref('telemetry'), ref('parcels'), left_columns=['device_id', 'event_ts'], right_columns=['parcel_id'],
        left_where=recomputed | replace('event_date', 'date(event_ts)')
    ) }}

)

select
    parcel_id,
    count(*) as event_count,
    count(distinct device_id) as device_count,
    event_date

from visits

group by parcel_id, event_date
