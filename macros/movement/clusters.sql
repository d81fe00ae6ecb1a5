{#
  Which points crowd together (DBSCAN), as something to select from: the key, `cluster` and `is_core` of every row. Distances are metres on the
  spheroid. A cluster is called after its smallest core; the answer depends on nothing but the rows.
#}
{% macro clusters(relation, key, radius_m, min_points, geometry='geometry') %}
    {%- if radius_m is not number or radius_m < 0.1 or radius_m > 100000 -%}
        {{ exceptions.raise_compiler_error('clusters: radius_m must be 0.1 to 100000 metres, got ' ~ radius_m) }}
    {%- endif -%}
    {%- if min_points is not integer or min_points < 1 -%}
        {{ exceptions.raise_compiler_error('clusters: min_points must be 1 or more, got ' ~ min_points) }}
    {%- endif -%}
    {%- if key in ['cluster', 'is_core'] -%}
        {{ exceptions.raise_compiler_error('clusters: key must not be called cluster or is_core as the outcome\'s own columns are, got ' ~ key) }}
    {%- endif -%}
    {%- set view = _view_name('clusters') -%}
    {%- if _runs_statements() -%}
        {%- do adapter.call_python(
            'plan_clusters', points=_side_sql(relation), key=key, geometry=geometry, radius_m=radius_m, min_points=min_points, view=view
        ) -%}
    {%- endif -%}
    {{ return(view) }}
{% endmacro %}
