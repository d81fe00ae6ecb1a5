with

landed as (

    select
        zone_id,
        zone_name,
        zone_type,
        trim(crs) as source_crs,
        population,
        geometry is not null as has_geometry,
        try_wkb(geometry) as wkb,
        left(hex(geometry), 200) as landed_geometry,
        updated_at,
        _source_file,
        _ingested_at,
        _batch_id,
        _row_id

    from {{ new_rows(ref('raw_zones')) }}

),

located as (

    {{ located('landed') }}

)

select
    zone_id,
    zone_name,
    zone_type,
    source_crs,
    population,
    false as is_deleted,
    st_asbinary(geometry_4326) as geometry,
    updated_at,
    {{ failed_expectations() }} as failed_expectations,
    landed_geometry as landed_value,
    _source_file,
    _ingested_at,
    _batch_id,
    _row_id

from located
