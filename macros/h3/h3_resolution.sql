{% macro h3_resolution(cell) -%}
    {%- set cell = '(' ~ cell ~ ')' -%}
    case when {{ h3_is_valid(cell) }} then {{ _h3_level(cell) }} end
{%- endmacro %}
