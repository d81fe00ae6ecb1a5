with

landed as (

    select
        facility_id,
        facility_name,
        facility_type,
        trim(crs) as source_crs,
        lon,
        lat,
        updated_at,
        {{ landed_columns() }}

    from {{ rows_to_check(ref('raw_facilities')) }}

),

examined as (

    {{ examined('landed', from_lonlat=true) }}

)

select
    facility_id,
    facility_name,
    facility_type,
    source_crs,
    false as is_deleted,
    geometry,
    updated_at,
    {{ checked_columns() }}

from examined
