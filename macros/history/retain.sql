{#
  Deletes rows that are older than their model's `retain_days`, by the time in its column `retain_by` (both in `meta`). Without
  `apply: true` it only shows what it would do.
#}
{% macro retain(apply=false) %}
    {%- if not execute -%} {{ return('') }} {%- endif -%}
    {%- set rules = [] -%}
    {%- for node in graph.nodes.values() if 'retain_days' in (node.config.meta or {}) -%}
        {%- set is_entity = node.name in var('entities') -%}
        {%- set of_ledger = _tables_by_role(none) | selectattr('role', 'equalto', 'foreign') | map(attribute='name') | list -%}
        {%- set table = api.Relation.create(schema=node.schema, identifier=node.alias) | string -%}
        {%- do rules.append({
            'model': node.name,
            'table': table,
            'role': 'foreign' if table in of_ledger and not is_entity else 'copy',
            'days': node.config.meta.retain_days,
            'column': node.config.meta.get('retain_by'),
            'entity': node.name if is_entity else none,
            'tables': _tables_by_role(node.name) if is_entity else [],
        }) -%}
    {%- endfor -%}
    {%- do log(adapter.call_python('retain_rows', rules=rules, log=ref('forget_log') | string, apply=apply), info=true) -%}
{% endmacro %}
