{#
  An expectation as SQL: {name, on_violation, check, explanation}. A check that is null (nothing to look at) has passed.
  The built-in ones look at `examined` (see geostrata/geometry), `geom` and the landed columns.
#}
{% macro expectation_sql(expectation, facts) %}
    {%- set built_in = _built_in_expectations(expectation, facts) -%}
    {%- set name = expectation.name -%}
    {%- set on_violation = expectation.get('on_violation', 'quarantine') -%}
    {%- if on_violation not in ['fail', 'quarantine', 'warn'] -%}
        {{ exceptions.raise_compiler_error(
            model.name ~ ': on_violation of ' ~ name ~ ' must be fail, quarantine or warn, got ' ~ on_violation
        ) }}
    {%- elif 'check' not in expectation and name not in built_in -%}
        {{ exceptions.raise_compiler_error(
            model.name ~ ': expectation ' ~ name ~ ' has no check and is none of the built-in ones: ' ~ built_in.keys() | join(', ')
        ) }}
    {%- endif -%}
    {%- set known = built_in.get(name, {}) -%}
    {%- set allowed = ['name', 'check', 'explanation', 'on_violation', 'stop', 'description'] + known.get('parameters', []) -%}
    {%- for parameter in expectation if parameter not in allowed -%}
        {{ exceptions.raise_compiler_error(
            model.name ~ ': expectation ' ~ name ~ ' has no parameter ' ~ parameter ~ '; it takes ' ~ allowed | join(', ')
        ) }}
    {%- endfor -%}
    {{ return({
        'name': name,
        'on_violation': on_violation,
        'check': expectation.get('check') or known.check,
        'explanation': expectation.get('explanation') or known.get('explanation', _quoted(name ~ ' does not hold')),
    }) }}
{% endmacro %}


{% macro _built_in_expectations(expectation, facts) %}
    {%- set key = facts.get('key', 'key') -%}
    {%- set types = expectation.get('types') or facts.get('geometry_types') or ['Polygon', 'MultiPolygon'] -%}
    {%- set area_change = expectation.get('max_area_change', 0.01) -%}
    {%- set column = expectation.get('column') or facts.get('time') or 'updated_at' -%}
    {%- set earliest = expectation.get('earliest', '2000-01-01') -%}
    {%- set ahead = expectation.get('ahead', '1 day') -%}
    {%- set extent = expectation.get('extent', var('extent', 'town')) -%}
    {%- set tolerance = expectation.get('tolerance', 0) -%}
    {%- set no_extent = 'extent ' ~ extent ~ ' of expectation within_extent is not in seeds/extents.csv' -%}
    {{ return({
        'file_accepted': {'check': '_file_problem is null', 'explanation': '_file_problem'},
        'file_has_rows': {
            'check': "coalesce(_source_position <> 'file without rows', true)", 'explanation': _quoted('the file holds no row'),
        },
        'record_readable': {
            'check': '_corrupt_record is null', 'explanation': _quoted('the record can not be read'),
        },
        'values_fit': {
            'check': '_rescued is null',
            'explanation': "concat('values that fit no declared column: ', " ~ excerpt('_rescued') ~ ')',
        },
        'key_present': {
            'check': "coalesce(trim(" ~ key ~ "), '') <> ''", 'explanation': _quoted('the key ' ~ key ~ ' is missing'),
        },
        'geometry_present': {'check': 'examined.has_geometry', 'explanation': _quoted('there is no geometry')},
        'geometry_readable': {'check': 'examined.is_readable', 'explanation': 'examined.problem'},
        'geometry_not_empty': {'check': 'not examined.is_empty', 'explanation': _quoted('the geometry is empty')},
        'geometry_type_allowed': {
            'parameters': ['types'],
            'check': "examined.geometry_type in ('" ~ types | join("', '") ~ "')",
            'explanation': "concat('a ', examined.geometry_type, ', allowed are " ~ types | join(', ') ~ "')",
        },
        'geometry_valid': {
            'parameters': ['repair', 'max_area_change'],
            'check': 'examined.is_valid and coalesce(examined.area_change, 0) <= ' ~ area_change,
            'explanation': "concat(examined.problem, case when examined.is_repaired then concat("
                ~ "', which changed its area by ', round(100 * examined.area_change, 3), ' %') else '' end)",
        },
        'geometry_simple': {'check': 'st_issimple(geom)', 'explanation': _quoted('the geometry crosses itself')},
        'crs_known': {'check': 'examined.is_crs_known', 'explanation': 'examined.problem'},
        'crs_allowed': {
            'parameters': ['crs'],
            'check': "examined.crs in ('" ~ expectation.get('crs', []) | join("', '") ~ "')",
            'explanation': "concat('CRS ', examined.crs, ' is not among " ~ expectation.get('crs', []) | join(', ') ~ "')",
        },
        'coordinates_within_crs': {'check': 'examined.is_within_crs', 'explanation': 'examined.problem'},
        'antimeridian_clear': {
            'check': 'examined.is_side_known',
            'explanation': _quoted(
                'an edge spans more than 180 degrees of longitude, so it may cross the antimeridian or go around the world; cut it at 180 degrees'
            ),
        },
        'within_extent': {
            'parameters': ['extent', 'tolerance'],
            'check': "case when extent.extent is null then raise_error('" ~ no_extent ~ "')"
                ~ ' else st_xmin(geom) >= extent.min_lon - ' ~ tolerance ~ ' and st_ymin(geom) >= extent.min_lat - ' ~ tolerance
                ~ ' and st_xmax(geom) <= extent.max_lon + ' ~ tolerance ~ ' and st_ymax(geom) <= extent.max_lat + ' ~ tolerance ~ ' end',
            'explanation': "concat('at ', round(st_xmin(geom), 5), ' ', round(st_ymin(geom), 5), ', outside the extent " ~ extent ~ "')",
        },
        'area_within': {
            'parameters': ['min_m2', 'max_m2'],
            'check': 'st_areaspheroid(geom) between ' ~ expectation.get('min_m2', 0) ~ ' and ' ~ expectation.get('max_m2', '1e15'),
            'explanation': "concat('its area is ', round(st_areaspheroid(geom), 1), ' m2')",
        },
        'vertices_within': {
            'parameters': ['min', 'max'],
            'check': 'st_npoints(geom) between ' ~ expectation.get('min', 0) ~ ' and ' ~ expectation.get('max', 2147483647),
            'explanation': "concat('it has ', st_npoints(geom), ' vertices')",
        },
        'event_ts_sane': {
            'parameters': ['column', 'earliest', 'ahead'],
            'check': 'coalesce(' ~ column ~ " between timestamp '" ~ earliest ~ "' and _ingested_at + interval " ~ ahead ~ ', false)',
            'explanation': "concat('" ~ column ~ " is ', coalesce(string(" ~ column ~ "), 'missing'))",
        },
    }) }}
{% endmacro %}


{% macro _quoted(text) -%}
    {{ adapter.quote_text(text) }}
{%- endmacro %}
