{# Liquid clustering is part of the statement that creates a table; dbt-spark's clause at this place is for buckets. #}
{% macro sedona__clustered_cols(label, required=false) -%}
    {%- set layout = config.get('layout') -%}
    {%- if layout is mapping and layout.cluster_by -%}
        cluster by ({{ _listed(layout.cluster_by) }})
    {%- else -%}
        {{- spark__clustered_cols(label, required) -}}
    {%- endif -%}
{%- endmacro %}


{% macro cluster_by_sql(relation, columns) -%}
    alter table {{ relation }} cluster by {{ '(' ~ columns | join(', ') ~ ')' if columns else 'none' }}
{%- endmacro %}
