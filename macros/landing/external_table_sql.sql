{% macro external_table_sql(source_node, relation) %}
    {%- set external = source_node.external -%}
    {%- set location = adapter.project_path(render(external.location)) -%}
    {%- for column in source_node.columns.values() if not column.data_type -%}
        {{ exceptions.raise_compiler_error(
            'Source ' ~ source_node.source_name ~ '.' ~ source_node.name ~ ': column ' ~ column.name ~ ' has no data_type'
        ) }}
    {%- endfor -%}
    create table {{ relation }} (
        {%- for column in source_node.columns.values() %}
        {{ adapter.quote(column.name) }} {{ column.data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
    using {{ external.file_format }}
    {%- if external.options %}
    options (
        {%- for name, value in external.options.items() %}
        '{{ name }}' '{{ value }}'{{ ',' if not loop.last }}
        {%- endfor %}
    )
    {%- endif %}
    location '{{ location | replace("'", "\\'") }}'
{% endmacro %}
