{%- do recompute_if_changed([ref('zones'), ref('parcels'), ref('zone_activity_daily')]) %}

with

zones as (

    select
        zone_id,
        zone_name,
        zone_type,
        population,
        geometry,
        bbox,
        h3

    from {{ ref('zones') }}

),

-- a parcel belongs to the zones that hold its representative point
holdings as (

    select
        zone_id,
        count(*) as parcel_count,
        sum(assessed_value) as assessed_value

    from {{ spatial_join(
        '(select assessed_value, st_asbinary(st_pointonsurface(st_geomfromwkb(geometry))) as geometry from '
        ~ ref('parcels') ~ ')',
        ref('zones'),
        left_columns=['assessed_value'],
        right_columns=['zone_id'],
    ) }}

    group by zone_id

),

activity as (

    select
        zone_id,
        sum(event_count) as event_count,
        max(event_date) as last_event_date

    from {{ ref('zone_activity_daily') }}

    group by zone_id

)

select
    zones.zone_id,
    zones.zone_name,
    zones.zone_type,
    zones.population,
    coalesce(holdings.parcel_count, 0) as parcel_count,
    coalesce(holdings.assessed_value, 0) as assessed_value,
    coalesce(activity.event_count, 0) as event_count,
    area_m2(zones.geometry) as area_m2,
    zones.geometry,
    zones.bbox,
    zones.h3,
    activity.last_event_date

from zones

left join holdings
    on zones.zone_id = holdings.zone_id

left join activity
    on zones.zone_id = activity.zone_id
