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

-- the sphere is within 0.6 % of the spheroid, and far cheaper: it screens, the spheroid decides
screened as (

    select /*+ broadcast(facilities) */
        parcels.parcel_id,
        parcels.place,
        facilities.facility_id,
        facilities.facility_type,
        facilities.place as facility_place,
        st_distancesphere(parcels.place, facilities.place) as sphere_m

    from parcels

    cross join facilities

),

closest as (

    select
        parcel_id,
        min(sphere_m) as least_m

    from screened

    group by parcel_id

),

measured as (

    select
        screened.parcel_id,
        screened.facility_id,
        screened.facility_type,
        st_distancespheroid(screened.place, screened.facility_place) as distance_m

    from screened

    inner join closest
        on screened.parcel_id = closest.parcel_id

    where screened.sphere_m <= closest.least_m * 1.012 + 0.001

),

ranked as (

    select
        *,
        row_number() over (partition by parcel_id order by distance_m asc, facility_id asc) as distance_rank

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
