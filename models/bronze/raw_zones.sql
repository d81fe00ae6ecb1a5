select
    zone_id,
    zone_name,
    zone_type,
    crs,
    population,
    geometry,
    updated_at,
    {{ landed_columns() }}

from {{ source('landing', 'zones') }}

where {{ is_new_file('landing', 'zones') }}
