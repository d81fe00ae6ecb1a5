{% macro h3_cell(point, resolution) -%}
    {%- do _check_h3_resolution('h3_cell', resolution) -%}
    st_h3cellids({{ point }}, {{ resolution }}, false)[0]
{%- endmacro %}
