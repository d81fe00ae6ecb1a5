{% macro h3_is_pentagon(cell) -%}
    {%- set cell = '(' ~ cell ~ ')' -%}
    case when {{ h3_is_valid(cell) }} then {{ _h3_is_pentagon_base(cell) }} and {{ _h3_digits(cell) }} = 0 end
{%- endmacro %}
