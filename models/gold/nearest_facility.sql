{{
    config(
        incremental_strategy='merge',
        unique_key='parcel_id',
        merge_delete_when='source.facility_id is null',
    )
}}

{%- set touched = changed_values(ref('parcels'), 'parcel_id', 'parcel_id') %}
{%- if has_changed(ref('facilities')) %}
    {%- set touched = '(select parcel_id from ' ~ touched ~ ' union select parcel_id from ' ~ ref('parcels') ~ ')' %}
{%- endif %}

with

touched as (

    select parcel_id from {{ touched }}

),

nearest as (

    select
        parcel_id,
        facility_id,
        facility_type,
        distance_m

    from {{ nearest(
        '(select parcel_id, st_asbinary(st_pointonsurface(st_geomfromwkb(geometry))) as geometry from '
        ~ ref('parcels') ~ ' left semi join ' ~ touched ~ ' using (parcel_id))',
        ref('facilities'),
        left_columns=['parcel_id'],
        right_columns=['facility_id', 'facility_type'],
    ) }}

)

-- the merge removes a parcel that is gone: it comes without a facility
select
    touched.parcel_id,
    nearest.facility_id,
    nearest.facility_type,
    nearest.distance_m

from touched

left join nearest
    on touched.parcel_id = nearest.parcel_id
{%- if not is_incremental() %}

where nearest.facility_id is not null
{%- endif %}
