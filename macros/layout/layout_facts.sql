{# What a model declares of its table's files and properties, for the Python that judges it. #}
{% macro layout_facts(node) %}
    {%- set keys = [] -%}
    {%- for key in [node.config.get('unique_key'), (node.config.meta or {}).get('key'), var('entities', {}).get(node.name, {}).get('key')] if key -%}
        {%- do keys.extend([key] if key is string else key) -%}
    {%- endfor -%}
    {{ return({
        'name': node.name,
        'layout': node.config.get('layout'),
        'partition_by': node.config.get('partition_by'),
        'keys': keys,
        'properties': declared_properties(node),
    }) }}
{% endmacro %}
