{# Compacts a table, in the order that `layout: {zorder: [...]}` asks for, once it has collected `min_files` files. #}
{% macro optimize_table(relation) %}
    {%- set layout = config.get('layout', {}) -%}
    {%- if layout.get('zorder') -%}
        {%- set files = run_query('describe detail ' ~ relation).rows[0]['numFiles'] | int -%}
        {%- set threshold = layout.get('min_files', 8) -%}
        {%- if files >= threshold -%}
            {%- do run_query(optimize_sql(relation, layout.zorder)) -%}
            {%- set after = run_query('describe detail ' ~ relation).rows[0]['numFiles'] | int -%}
            {%- do log(relation ~ ': ' ~ files ~ ' files became ' ~ after ~ ', in Z-order of ' ~ layout.zorder | join(', '), info=true) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro optimize_sql(relation, zorder) -%}
    optimize {{ relation }} zorder by ({{ zorder | join(', ') }})
{%- endmacro %}
