{% macro h3_area_m2(cell) -%}
    h3_cell_area_m2(coalesce({{ cell }}, 0L))
{%- endmacro %}
