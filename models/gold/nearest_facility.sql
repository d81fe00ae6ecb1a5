{{
    config(
        incremental_strategy='merge',
        unique_key='parcel_id',
        merge_delete_when='source.facility_id is null',
    )
}}

{%- set is_whole = has_changed(ref('facilities')) or not is_incremental() %}

with

facilities as (

    select
        facility_id,
        facility_type,
        st_geomfromwkb(geometry) as place

    from {{ ref('facilities') }}

),

touched as (

    select parcel_id from {{ changed_values(ref('parcels'), 'parcel_id', 'parcel_id') }}
    {%- if is_whole %}
    union
    select parcel_id from {{ ref('parcels') }}
    {%- endif %}

),

-- a parcel that is gone comes without a place: the merge takes it out
parcels as (

    select
        touched.parcel_id,
        st_pointonsurface(st_geomfromwkb(parcels.geometry)) as place

    from touched

    left join {{ ref('parcels') }} as parcels
        on touched.parcel_id = parcels.parcel_id

),

parcel_places as (

    select
        parcel_id,
        st_x(place) as lon,
        st_y(place) as lat

    from parcels

    where place is not null

),

facility_places as (

    select
        facility_id,
        st_x(place) as lon,
        st_y(place) as lat

    from facilities

),

screened as (

    select /*+ broadcast(facility_places) */
        parcel_places.parcel_id,
        facility_places.facility_id,
        {{ sphere_distance_m(
            'parcel_places.lon', 'parcel_places.lat', 'facility_places.lon', 'facility_places.lat'
        ) }} as sphere_m

    from parcel_places

    cross join facility_places

),

closest as (

    select
        parcel_id,
        min(sphere_m) as least_m

    from screened

    group by parcel_id

),

-- what is nearest on the spheroid is within 1.2 % of the nearest on the sphere: few are left to measure
candidates as (

    select
        screened.parcel_id,
        screened.facility_id

    from screened

    inner join closest
        on screened.parcel_id = closest.parcel_id

    where screened.sphere_m <= closest.least_m * 1.012 + 0.001

),

measured as (

    select
        candidates.parcel_id,
        candidates.facility_id,
        facilities.facility_type,
        st_distancespheroid(parcels.place, facilities.place) as distance_m

    from candidates

    inner join parcels
        on candidates.parcel_id = parcels.parcel_id

    inner join facilities
        on candidates.facility_id = facilities.facility_id

),

ranked as (

    select
        *,
        row_number() over (
            partition by parcel_id order by distance_m asc, facility_id asc
        ) as distance_rank

    from measured

)

select
    parcels.parcel_id,
    ranked.facility_id,
    ranked.facility_type,
    ranked.distance_m

from parcels

left join ranked
    on
        parcels.parcel_id = ranked.parcel_id
        and ranked.distance_rank = 1
{%- if not is_incremental() %}

where ranked.facility_id is not null
{%- endif %}
