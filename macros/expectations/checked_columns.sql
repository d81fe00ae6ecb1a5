{% macro checked_columns() -%}
    is_repaired,
    failed_expectations,
    warned_expectations,
    explanation,
    landed_value,
    {{ provenance() }}
{%- endmacro %}
