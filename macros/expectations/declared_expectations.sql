{# What is always expected, then what the model's YAML declares, or else the YAML of the source that it rests on. #}
{% macro declared_expectations(node=none) %}
    {%- set always = [
        {'name': 'file_accepted', 'stop': true}, {'name': 'file_has_rows', 'stop': true}, {'name': 'record_readable', 'stop': true}
    ] -%}
    {{ return(always + (_expectation_facts(node or model).get('expectations') or [])) }}
{% endmacro %}


{# The `meta` that holds the key and the expectations: the model's own, or its source's. #}
{% macro _expectation_facts(node) %}
    {%- if not execute -%}
        {{ return({}) }}
    {%- elif 'expectations' in node.config.meta -%}
        {{ return(node.config.meta) }}
    {%- endif -%}
    {%- for raw in node.depends_on.nodes if graph.nodes.get(raw) -%}
        {%- for landed in graph.nodes[raw].depends_on.nodes if graph.sources.get(landed) -%}
            {%- set meta = graph.sources[landed].config.meta -%}
            {%- if 'expectations' in meta -%}
                {{ return(meta) }}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(node.config.meta) }}
{% endmacro %}
