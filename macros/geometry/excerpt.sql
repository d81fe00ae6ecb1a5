{# The beginning of a text, without signs that would garble a terminal. #}
{% macro excerpt(text) -%}
    regexp_replace(left({{ text }}, 200), '[\\p{Cntrl}]', '\uFFFD')
{%- endmacro %}
