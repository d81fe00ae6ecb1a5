{# Lays a table's files out anew, and says in a line what it did and why. #}
{% macro optimize_table(relation, work, files) %}
    {#
      Session settings are the only way: open-source Delta has no such table property. They are set before every OPTIMIZE of
      ours, so that a statement that fails and leaves them behind does no harm.
    #}
    {%- do run_query('set spark.databricks.delta.optimize.maxFileSize = ' ~ work.target_file_size) -%}
    {%- do run_query('set spark.databricks.delta.optimize.minFileSize = ' ~ work.target_file_size // 2) -%}
    {%- do run_query(optimize_sql(relation, work, config.get('layout') or {})) -%}
    {%- do run_query('reset spark.databricks.delta.optimize.maxFileSize') -%}
    {%- do run_query('reset spark.databricks.delta.optimize.minFileSize') -%}
    {%- set now = adapter.call_python('count_files', table=relation.render()) -%}
    {%- do log(relation ~ ': ' ~ files ~ ' files became ' ~ now ~ _order_text(work) ~ ': ' ~ work.why, info=true) -%}
{% endmacro %}


{% macro _order_text(work) -%}
    {%- set layout = config.get('layout') or {} -%}
    {%- if work.kind == 'zorder' %}, in Z-order of {{ _listed(layout.zorder) }}
    {%- elif work.kind == 'cluster' %}, clustered by {{ _listed(layout.cluster_by) }}
    {%- endif -%}
{%- endmacro %}


{% macro optimize_sql(relation, work, layout) -%}
    optimize {{ relation }}
    {%- if work.where %} where {{ work.where }}{% endif -%}
    {%- if work.kind == 'zorder' %} zorder by ({{ _listed(layout.zorder) }})
    {%- elif work.is_full %} full
    {%- endif -%}
{%- endmacro %}


{% macro _listed(columns) -%}
    {{ columns if columns is string else columns | join(', ') }}
{%- endmacro %}
