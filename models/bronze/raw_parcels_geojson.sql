with

files as (

    select
        -- a file that is no JSON has no features: it stays one row, with its text
        explode_outer(features) as feature,
        _corrupt_record,
        _metadata

    from {{ source('landing', 'parcels_geojson') }}

    where {{ is_new_file('landing', 'parcels_geojson') }}

)

select
    feature.properties.parcel_id,
    feature.properties.land_use,
    feature.properties.crs,
    feature.properties.assessed_value,
    feature.properties.is_deleted,
    feature.geometry,
    feature.properties.updated_at,
    _corrupt_record,
    {{ landed_columns() }}

from files
