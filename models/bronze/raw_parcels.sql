select
    parcel_id,
    land_use,
    crs,
    assessed_value,
    is_deleted,
    geometry,
    updated_at,
    {{ landed_columns() }}

from {{ source('landing', 'parcels_geoparquet') }}

where {{ is_new_file('landing', 'parcels_geoparquet') }}
