with

geoparquet as (

    select
        parcel_id,
        land_use,
        trim(crs) as source_crs,
        assessed_value,
        is_deleted,
        geometry is not null as has_geometry,
        try_wkb(geometry) as wkb,
        left(hex(geometry), 200) as landed_geometry,
        updated_at,
        string(null) as _corrupt_record,
        _source_file,
        _ingested_at,
        _batch_id,
        _row_id

    from {{ new_rows(ref('raw_parcels')) }}

),

geojson as (

    select
        parcel_id,
        land_use,
        trim(crs) as source_crs,
        assessed_value,
        is_deleted,
        geometry is not null as has_geometry,
        try_geojson(geometry) as wkb,
        left(geometry, 200) as landed_geometry,
        updated_at,
        _corrupt_record,
        _source_file,
        _ingested_at,
        _batch_id,
        _row_id

    from {{ new_rows(ref('raw_parcels_geojson')) }}

),

landed as (

    select * from geoparquet
    union all
    select * from geojson

),

located as (

    {{ located('landed') }}

)

select
    parcel_id,
    land_use,
    source_crs,
    assessed_value,
    coalesce(is_deleted, false) as is_deleted,
    st_asbinary(geometry_4326) as geometry,
    updated_at,
    {{ failed_expectations() }} as failed_expectations,
    coalesce(left(_corrupt_record, 200), landed_geometry) as landed_value,
    _source_file,
    _ingested_at,
    _batch_id,
    _row_id

from located
