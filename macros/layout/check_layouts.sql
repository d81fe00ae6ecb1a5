{#
  Runs at the start, before anything is written: stops the run if the layout or the properties of a selected model can't be as
  declared. By `dbt run-operation check_layouts`, looks at all models.
#}
{% macro check_layouts() %}
    {%- if execute -%}
        {%- set models = _models_with_tables() -%}
        {%- set found = adapter.call_python('check_layouts', models=models) if models else {'clashes': [], 'notes': []} -%}
        {%- for note in found.notes -%}
            {%- do log(note, info=true) -%}
        {%- endfor -%}
        {%- if found.clashes -%}
            {{ exceptions.raise_compiler_error(found.clashes | join('\n')) }}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro _models_with_tables() %}
    {%- set models = [] -%}
    {%- for name in (graph.nodes.keys() if flags.WHICH == 'run-operation' else selected_resources) -%}
        {%- set node = graph.nodes.get(name) -%}
        {%- if node and node.resource_type in ['model', 'snapshot'] and node.config.materialized not in ['view', 'ephemeral']
            and node.config.get('file_format') == 'delta' -%}
            {%- set types = {} -%}
            {%- for column in node.columns.values() if node.contract and node.contract.enforced -%}
                {%- do types.update({column.name: column.data_type}) -%}
            {%- endfor -%}
            {%- set table = api.Relation.create(schema=node.schema, identifier=node.alias).render() -%}
            {%- set is_rebuilt = node.config.materialized == 'table' or flags.FULL_REFRESH -%}
            {%- do models.append({'facts': layout_facts(node), 'table': table, 'types': types, 'is_rebuilt': is_rebuilt}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(models) }}
{% endmacro %}
