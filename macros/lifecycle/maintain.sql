{# `geostrata maintain` in dbt's own session: `dbt run-operation maintain --args '{apply: true, tables: [silver]}'`. #}
{% macro maintain(tables=[], apply=false) %}
    {%- if execute -%}
        {%- do log(adapter.call_python('maintain_tables', tables=tables, is_applied=apply), info=true) -%}
    {%- endif -%}
{% endmacro %}
