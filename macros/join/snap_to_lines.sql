{# Every point with its nearest line, and where on that line it comes to lie, as something to select from. #}
{% macro snap_to_lines(
    points, lines, max_distance_m=none, point_columns=none, line_columns=none,
    point_geometry='geometry', line_geometry='geometry', line_key=none
) %}
    {%- do _check_max_distance('snap_to_lines', max_distance_m) -%}
    {%- set view = _view_name('snap_to_lines') -%}
    {%- if _runs_statements() -%}
        {%- do adapter.call_python(
            'plan_snap_to_lines', left=_side_sql(points), right=_side_sql(lines), view=view, max_distance_m=max_distance_m,
            left_columns=point_columns, right_columns=line_columns, left_geometry=point_geometry,
            right_geometry=line_geometry, right_key=line_key
        ) -%}
    {%- endif -%}
    {{ return(view) }}
{% endmacro %}
