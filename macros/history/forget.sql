{#
  Takes all that was landed under a key out of every layer, for good. Without `apply: true` it only shows what it would do. `column` names
  another column than the entity's key, such as device_id of telemetry.
#}
{% macro forget(entity, key, reason, column=none, apply=false) %}
    {%- if not execute -%} {{ return('') }} {%- endif -%}
    {%- set facts = entity_facts(entity) -%}
    {%- set request = {
        'entity': entity, 'key_column': facts.key, 'column': column or facts.key, 'value': key | string, 'reason': reason | string
    } -%}
    {%- do log(adapter.call_python(
        'forget_key', request=request, tables=_tables_by_role(entity), log=ref('forget_log') | string, apply=apply
    ), info=true) -%}
{% endmacro %}


{# Every table of the project as {name, role}, seen from an entity: geostrata/history/layers.py says what the roles mean. #}
{% macro _tables_by_role(entity) %}
    {%- set roles = {'changes': 'audit'} -%}
    {%- for other in var('entities') -%}
        {%- set is_it = other == entity -%}
        {%- for raw in entity_facts(other).landed -%}
            {%- do roles.update({raw: 'landed' if is_it else 'foreign'}) -%}
        {%- endfor -%}
        {%- do roles.update({other ~ '_checked': 'checked' if is_it else 'foreign', other: 'entity' if is_it else 'foreign'}) -%}
    {%- endfor -%}
    {# Only what is built from the entity's tables can hold its rows. A column of that name elsewhere is of something else. #}
    {%- set related = [] -%}
    {%- for node in graph.nodes.values() if entity is none or roles.get(node.name, 'foreign') != 'foreign' -%}
        {%- do related.append(node.unique_id) -%}
    {%- endfor -%}
    {%- for _ in graph.nodes -%}
        {%- set further = [] -%}
        {%- for node in graph.nodes.values() if node.unique_id not in related and node.resource_type in ['model', 'snapshot'] -%}
            {%- do further.append(node.unique_id) if node.depends_on.nodes | select('in', related) | list -%}
        {%- endfor -%}
        {%- if not further -%} {%- break -%} {%- endif -%}
        {%- do related.extend(further) -%}
    {%- endfor -%}
    {%- set tables = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'snapshot'] -%}
        {%- if node.config.materialized not in ['view', 'ephemeral'] and node.config.enabled -%}
            {%- do tables.append({
                'name': api.Relation.create(schema=node.schema, identifier=node.alias) | string,
                'role': roles.get(node.name, 'copy' if node.unique_id in related else 'foreign'),
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(tables) }}
{% endmacro %}
