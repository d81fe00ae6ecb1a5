{# What the variable `entities` says of an entity, checked and with defaults: key, landed, newest, delivery, snapshot_by. #}
{% macro entity_facts(entity) %}
    {%- set entities = var('entities') -%}
    {%- if entity not in entities -%}
        {{ exceptions.raise_compiler_error(
            'entity ' ~ entity ~ ' is not among the variable `entities` in dbt_project.yml: ' ~ entities.keys() | join(', ')
        ) }}
    {%- endif -%}
    {%- set facts = {'newest': 'updated_at desc', 'delivery': 'changes', 'snapshot_by': '_source_mtime'} -%}
    {%- for name in entities[entity] if name not in ['key', 'landed', 'newest', 'delivery', 'snapshot_by'] -%}
        {{ exceptions.raise_compiler_error(
            'entity ' ~ entity ~ ' in dbt_project.yml: ' ~ name ~ ' is unknown; there are key, landed, newest, delivery, snapshot_by'
        ) }}
    {%- endfor -%}
    {%- do facts.update(entities[entity]) -%}
    {%- if not facts.key or not facts.landed -%}
        {{ exceptions.raise_compiler_error('entity ' ~ entity ~ ' in dbt_project.yml needs key and landed') }}
    {%- elif facts.delivery not in ['changes', 'snapshot'] -%}
        {{ exceptions.raise_compiler_error(
            'entity ' ~ entity ~ ' in dbt_project.yml: delivery must be changes or snapshot, got ' ~ facts.delivery
        ) }}
    {%- endif -%}
    {{ return(facts) }}
{% endmacro %}
