{# One commit a run, and none if nothing was judged. #}
{% macro record_checks(results, table) %}
    {%- set rows = [] -%}
    {%- for result in results if result.node.resource_type == 'model' and result.node.name.endswith('_checked') -%}
        {%- if result.status == 'success' and result.message != 'NOTHING NEW' -%}
            {%- do rows.append(
                "('" ~ result.node.name ~ "', " ~ result.execution_time ~ ", '" ~ invocation_id ~ "')"
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if execute and rows -%}
        {%- do run_query(
            'insert into ' ~ table ~ ' select model_name, double(seconds), _batch_id from values '
            ~ rows | join(', ') ~ ' as runs (model_name, seconds, _batch_id)'
        ) -%}
    {%- endif -%}
{% endmacro %}
