{#
  The rows of all files of a source that this model has not loaded yet. A file is known by its path and modification time, and
  the model's own table says which ones it has. What is wrong with a file is told, and stops no other.
#}
{% macro landed_rows(source_name, table_name) %}
    {%- set relation = source(source_name, table_name) -%}
    {# In a unit test the source is the rows that the test gives. #}
    {%- if not execute or relation.is_cte -%}
        {{ return(relation) }}
    {%- endif -%}
    {%- set declared = _declared_source(source_name, table_name) -%}
    {%- set listing = adapter.call_python('list_landed_files', source=declared) -%}
    {%- if not listing -%}
        {%- set why = 'there is no folder ' if listing is none else 'no file lies in ' -%}
        {%- do log(declared.name ~ ': ' ~ why ~ declared.location ~ ', nothing to load', info=true) -%}
    {%- endif -%}
    {%- set loaded_by = this if is_incremental() else none -%}
    {%- if adapter.is_as_noted(loaded_by, declared.location, listing) -%}
        {%- do adapter.note_change(declared.location, false) -%}
        {{ return('(select * from ' ~ this ~ ' where false)') }}
    {%- endif -%}
    {%- set view = ['landed', source_name, table_name] | join('_') -%}
    {%- set plan = adapter.call_python(
        'plan_landed_rows', source=declared, listing=listing or [], loaded_by=loaded_by.render() if loaded_by else none,
        may_grow=config.get('on_schema_change') in ['append_new_columns', 'sync_all_columns'], view=view
    ) -%}
    {%- for message in plan.messages -%}
        {%- do log(message, info=true) -%}
    {%- endfor -%}
    {%- if not plan.is_settled -%}
        {%- do adapter.forget_noted(declared.location) -%}
    {%- endif -%}
    {%- do adapter.note_change(declared.location, plan.files > 0) -%}
    {{ return(_landed_rows_sql(view)) }}
{% endmacro %}


{# A row's id is made of its file, the file's time and its place in it: loaded again, it is the same row. #}
{% macro _landed_rows_sql(view) -%}
    (
        select
            *,
            timestamp '{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S.%f") }}' as _ingested_at,
            '{{ invocation_id }}' as _batch_id,
            concat(
                left(md5(concat(_source_file, '@', unix_millis(_source_mtime))), 16), '-', _source_row
            ) as _row_id
        from {{ view }}
    )
{%- endmacro %}


{% macro _declared_source(source_name, table_name) %}
    {%- for node in graph.sources.values() if node.source_name == source_name and node.name == table_name -%}
        {%- set name = source_name ~ '.' ~ table_name -%}
        {%- if not node.external or not node.external.location -%}
            {{ exceptions.raise_compiler_error('source ' ~ name ~ ' has no external.location: where do its files land?') }}
        {%- endif -%}
        {%- set external = {} -%}
        {%- for key, value in node.external.items() if value -%}
            {%- do external.update({key: value}) -%}
        {%- endfor -%}
        {%- set columns = {} -%}
        {%- for column in node.columns.values() -%}
            {%- if not column.data_type -%}
                {{ exceptions.raise_compiler_error('source ' ~ name ~ ': column ' ~ column.name ~ ' has no data_type') }}
            {%- endif -%}
            {%- do columns.update({column.name: column.data_type}) -%}
        {%- endfor -%}
        {{ return({
            'name': name,
            'location': adapter.project_path(render(external.location)),
            'external': external,
            'columns': columns,
        }) }}
    {%- endfor -%}
{% endmacro %}
