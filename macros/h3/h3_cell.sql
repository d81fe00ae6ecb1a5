{#
  H3 fails on empty points and those at infinity, and gives some cell for a place that is not on the map. As an array of points the
  expression is evaluated once, however dear it is.
#}
{% macro h3_cell(point, resolution) -%}
    {%- do _check_h3_resolution('h3_cell', resolution) -%}
    st_h3cellids(
        get(filter(st_dumppoints({{ point }}), _point -> abs(st_x(_point)) <= 180 and abs(st_y(_point)) <= 90), 0),
        {{ resolution }},
        false
    )[0]
{%- endmacro %}
