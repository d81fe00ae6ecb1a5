{# What the built-in expectations check, by name. A check that is null (nothing to look at) has passed. #}
{% macro built_in_checks(key) %}
    {{ return({
        'record_readable': '_corrupt_record is null',
        'key_present': "coalesce(trim(" ~ key ~ "), '') <> ''",
        'geometry_present': 'has_geometry',
        'geometry_readable': 'not has_geometry or wkb is not null',
        'geometry_not_empty': 'not st_isempty(source_geometry)',
        'geometry_type_allowed': "st_geometrytype(source_geometry) in ('ST_Polygon', 'ST_MultiPolygon')",
        'geometry_valid': 'st_isvalid(source_geometry)',
        'crs_known': 'is_crs_known',
        'coordinates_within_crs': 'is_within_crs',
        'within_extent': 'is_within_extent',
    }) }}
{% endmacro %}
