with

geoparquet as (

    select
        parcel_id,
        land_use,
        trim(crs) as source_crs,
        assessed_value,
        is_deleted,
        geometry as landed_geometry,
        updated_at,
        {{ landed_columns() }}

    from {{ rows_to_check(ref('raw_parcels')) }}

),

geojson as (

    select
        parcel_id,
        land_use,
        trim(crs) as source_crs,
        assessed_value,
        is_deleted,
        cast(geometry as binary) as landed_geometry,
        updated_at,
        {{ landed_columns() }}

    from {{ rows_to_check(ref('raw_parcels_geojson')) }}

),

landed as (

    select * from geoparquet
    union all
    select * from geojson

),

examined as (

    {{ examined('landed') }}

)

select
    parcel_id,
    land_use,
    source_crs,
    assessed_value,
    coalesce(is_deleted, false) as is_deleted,
    geometry,
    updated_at,
    {{ checked_columns() }}

from examined
