{% macro h3_to_string(cell) -%}
    case when {{ h3_is_valid(cell) }} then lower(hex({{ cell }})) end
{%- endmacro %}
