{#
  The rows of all files of a source that this model has not loaded yet, or not as they are now. A file is known by its path, time, size and
  content, and the model's own table says which ones it has. What is wrong with a file is told, and stops no other.
#}
{% macro landed_rows(source_name, table_name) %}
    {%- set relation = source(source_name, table_name) -%}
    {%- set requests = ref('release_requests') -%}
    {# In a unit test the source is the rows that the test gives. #}
    {%- if not execute or relation.is_cte -%}
        {{ return(relation) }}
    {%- endif -%}
    {%- set declared = _declared_source(source_name, table_name) -%}
    {%- set listed = adapter.call_python(
        'list_landed_files', source=declared, others=_other_sources(source_name, table_name)
    ) -%}
    {%- set listing = listed.files -%}
    {%- for message in listed.messages -%}
        {%- do log(message, info=true) -%}
    {%- endfor -%}
    {%- if not listing -%}
        {%- set why = 'there is no folder ' if listing is none else 'no file lies in ' -%}
        {%- do log(declared.name ~ ': ' ~ why ~ declared.location ~ ', nothing to load', info=true) -%}
    {%- endif -%}
    {%- set loaded_by = this if is_incremental() else none -%}
    {%- set released = _released_files(requests, loaded_by) -%}
    {%- if adapter.is_as_noted(loaded_by, declared.name, listing) and not released -%}
        {%- do adapter.note_change(declared.name, false) -%}
        {{ return('(select * from ' ~ this ~ ' where false)') }}
    {%- endif -%}
    {# A full refresh keeps the order in which deliveries were seen, and loses no file that can't be read again. #}
    {%- set present = load_relation(this) -%}
    {# The time up to which no file has changed behind the back of its own time and size. #}
    {%- set compared = declared.name ~ ' compared at' -%}
    {%- set compared_ms = adapter.noted_value(loaded_by, compared) | int -%}
    {%- do adapter.note_value(compared, (run_started_at.timestamp() * 1000) | int) -%}
    {%- set view = ['landed', source_name, table_name] | join('_') -%}
    {%- set plan = adapter.call_python(
        'plan_landed_rows', source=declared, listing=listing or [],
        known_in=present.render() if present and present.is_delta else none, is_refresh=loaded_by is none, released=released,
        may_drop_missing=_for_this_run('drop_missing_files'), compared_ms=compared_ms,
        may_grow=config.get('on_schema_change') in ['append_new_columns', 'sync_all_columns'], view=view
    ) -%}
    {%- for message in plan.messages -%}
        {%- do log(message, info=true) -%}
    {%- endfor -%}
    {%- if not plan.is_settled -%}
        {%- do adapter.forget_noted(declared.name) -%}
    {%- endif -%}
    {%- do adapter.note_change(declared.name, plan.files > 0) -%}
    {%- set forgotten = adapter.call_python('forgotten_rows', table=present.render(), landed=view, view=view ~ '_forgotten')
        if loaded_by is none and present and present.is_delta -%}
    {{ return(_without_forgotten(_landed_rows_sql(view), forgotten)) }}
{% endmacro %}


{# A variable that is no part of the model's code: the adapter counts those that are named by a literal. #}
{% macro _for_this_run(variable) %}
    {{ return(var(variable, false)) }}
{% endmacro %}


{# Files whose refusal somebody asked to look at again (`release_quarantine`) since this model last ran. #}
{% macro _released_files(requests, loaded_by) %}
    {%- if requests.is_cte or load_relation(requests) is none -%} {{ return([]) }} {%- endif -%}
    {%- set released = [] -%}
    {%- if has_changed(requests) and loaded_by is not none -%}
        {%- do released.extend(run_query(
            'select distinct _source_file from ' ~ loaded_by ~ ' left semi join ' ~ changed_values(requests, '_row_id', 'asked_id')
            ~ ' on _row_id = asked_id where _file_problem is not null'
        ).rows | map(attribute=0)) -%}
    {%- endif -%}
    {# Requests for rows of others are no reason to write. #}
    {%- do adapter.note_change(requests.render(), released | length > 0) -%}
    {{ return(released) }}
{% endmacro %}


{#
  A row's id is made of its file, the file's time, the number of the delivery and its place in it. A full refresh keeps the numbers, so that a
  row keeps its id; a file that comes back as it once was is a delivery of its own, with ids of its own.
#}
{% macro _landed_rows_sql(view) -%}
    (
        select
            *,
            timestamp '{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S.%f") }}' as _ingested_at,
            '{{ invocation_id }}' as _batch_id,
            concat(
                left(md5(concat_ws('@', _source_file, unix_millis(_source_mtime), _delivery)), 16), '-', _source_row
            ) as _row_id
        from {{ view }}
    )
{%- endmacro %}


{# A full refresh reads files that still hold what was forgotten (`dbt run-operation forget`): it stays so. #}
{% macro _without_forgotten(rows, forgotten) -%}
    {%- if not forgotten -%} {{ return(rows) }} {%- endif -%}
    (
        select /*+ broadcast(forgotten) */
            {{ forgotten.columns | join(', ') }}
        from {{ rows }} as landed
        left join {{ forgotten.view }} as forgotten
            on {{ forgotten.condition }}
    )
{%- endmacro %}


{# What else this model loads; the source itself, if the model asks for it twice. #}
{% macro _other_sources(source_name, table_name) %}
    {%- set others = model.sources | map('list') | list -%}
    {%- if [source_name, table_name] in others -%}
        {%- do others.remove([source_name, table_name]) -%}
    {%- endif -%}
    {%- set declared = [] -%}
    {%- for node in graph.sources.values() if [node.source_name, node.name] in others and node.external and node.external.location -%}
        {%- do declared.append(_declared_source(node.source_name, node.name)) -%}
    {%- endfor -%}
    {{ return(declared) }}
{% endmacro %}


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
