{% macro h3_distance(cell, other) -%}
    h3_cell_distance(coalesce({{ cell }}, 0L), coalesce({{ other }}, 0L))
{%- endmacro %}
