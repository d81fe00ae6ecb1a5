{% macro h3_boundary(cell) -%}
    h3_cell_boundary(coalesce({{ cell }}, 0L))
{%- endmacro %}
