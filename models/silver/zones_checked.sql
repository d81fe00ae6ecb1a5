with

landed as (

    select
        zone_id,
        zone_name,
        zone_type,
        trim(crs) as source_crs,
        population,
        geometry as landed_geometry,
        updated_at,
        {{ landed_columns() }}

    from {{ rows_to_check(ref('raw_zones')) }}

),

examined as (

    {{ examined('landed') }}

)

select
    zone_id,
    zone_name,
    zone_type,
    source_crs,
    population,
    false as is_deleted,
    geometry,
    updated_at,
    {{ checked_columns() }}

from examined
