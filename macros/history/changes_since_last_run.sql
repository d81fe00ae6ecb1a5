{#
  The change feed of a relation since this model last ran, rows that were removed included; on a first or full run all its
  rows, as inserts. Names the input, as `new_rows` does: without changes the model writes nothing.
#}
{% macro changes_since_last_run(relation) %}
    {%- if not execute or relation.is_cte -%}
        {%- do adapter.note_change(relation.identifier, true) if execute -%}
        {{ return(_as_inserts_sql(relation, 'null')) }}
    {%- endif -%}
    {%- do adapter.accumulates() -%}
    {%- set read = adapter.read_input(this if is_incremental() else none, relation) -%}
    {%- do _check_feed('changes_since_last_run', relation) -%}
    {%- if read.last is not none -%}
        {{ return(_feed_sql(relation, read.last + 1, read.version) if read.has_changed else _no_changes_sql(relation)) }}
    {%- elif is_incremental() and (config.get('incremental_strategy') or 'append') == 'append' -%}
        {{ exceptions.raise_compiler_error(
            'changes_since_last_run: ' ~ this ~ ' can no longer tell what is new in ' ~ relation ~ ', which was replaced since, or the'
            ~ ' note of the last run is gone. Run again with --full-refresh.'
        ) }}
    {%- endif -%}
    {{ return(_as_inserts_sql(relation, read.version)) }}
{% endmacro %}
