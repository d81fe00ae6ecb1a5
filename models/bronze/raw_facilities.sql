select
    facility_id,
    facility_name,
    facility_type,
    crs,
    lon,
    lat,
    updated_at,
    _corrupt_record,
    {{ landed_columns() }}

from {{ source('landing', 'facilities') }}

where {{ is_new_file('landing', 'facilities') }}
