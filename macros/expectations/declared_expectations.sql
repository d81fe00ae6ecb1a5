{#
  What is always expected, then what the model's YAML declares, or else the YAML of the source that it rests on, then what silver can't do
  without and nobody has declared: without a key, a readable shape and a known CRS a row has no place there.
#}
{% macro declared_expectations(node=none) %}
    {%- set facts = _expectation_facts(node or model) -%}
    {%- set always = [
        {'name': 'file_accepted', 'stop': true}, {'name': 'file_has_rows', 'stop': true}, {'name': 'record_readable', 'stop': true}
    ] -%}
    {%- set declared = facts.get('expectations') or [] -%}
    {%- set needed = ['key_present'] if facts.get('key') else [] -%}
    {%- set needed = needed + [
        'geometry_present', 'geometry_readable', 'geometry_not_empty', 'geometry_valid', 'crs_known', 'coordinates_within_crs'
    ] -%}
    {%- set names = declared | map(attribute='name') | list -%}
    {%- for expectation in declared if expectation.name in needed and expectation.get('on_violation') == 'warn' -%}
        {{ exceptions.raise_compiler_error(
            (node or model).name ~ ': on_violation of ' ~ expectation.name ~ ' must be fail or quarantine: silver needs it'
        ) }}
    {%- endfor -%}
    {%- set missing = [] -%}
    {# A shape that may be a band around the world meets everything on its way: one who wants it says so. #}
    {%- for name in needed + ['antimeridian_clear'] if name not in names -%}
        {%- do missing.append({'name': name}) -%}
    {%- endfor -%}
    {{ return(always + declared + missing) }}
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
