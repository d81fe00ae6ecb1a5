{# Every cell is written with fifteen digits, 8 the first of them. #}
{% macro h3_from_string(text) -%}
    {%- set cell -%}
    cast(conv(case when {{ text }} rlike '^0?8[0-9A-Fa-f]{14}$' then {{ text }} end, 16, 10) as bigint)
    {%- endset -%}
    case when {{ h3_is_valid(cell) }} then {{ cell }} end
{%- endmacro %}
