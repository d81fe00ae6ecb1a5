{# `geostrata repair` in dbt's own session: `dbt run-operation repair --args '{command: "undo parcels"}'`. #}
{% macro repair(command) %}
    {%- if execute -%}
        {%- do log(adapter.call_python('repair_table', command=command), info=true) -%}
    {%- endif -%}
{% endmacro %}
