with

landed as (

    select
        facility_id,
        facility_name,
        facility_type,
        trim(crs) as source_crs,
        lon is not null and lat is not null as has_geometry,
        st_asbinary(st_point(lon, lat)) as wkb,
        concat_ws(' ', lon, lat) as landed_geometry,
        updated_at,
        _corrupt_record,
        _source_file,
        _ingested_at,
        _batch_id,
        _row_id

    from {{ new_rows(ref('raw_facilities')) }}

),

located as (

    {{ located('landed') }}

)

select
    facility_id,
    facility_name,
    facility_type,
    source_crs,
    false as is_deleted,
    st_asbinary(geometry_4326) as geometry,
    updated_at,
    {{ failed_expectations() }} as failed_expectations,
    coalesce(left(_corrupt_record, 200), landed_geometry) as landed_value,
    _source_file,
    _ingested_at,
    _batch_id,
    _row_id

from located
