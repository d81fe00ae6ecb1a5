{#
  What has changed since this model last ran, by Delta's change feed. Names the input, so that the version read is noted
  in the model's commit and a run in which no named input has changed writes nothing.
#}
{% macro new_rows(relation) %}
  {# An ephemeral model, or the given rows of a unit test, is no table and has no versions: all of it is new. #}
  {%- if not execute or relation.is_cte -%}
    {%- do adapter.note_change(relation.identifier, true) if execute -%}
    {{ return(relation) }}
  {%- endif -%}
  {%- set read = adapter.read_input(this if is_incremental() else none, relation) -%}
  {%- if read.last is none -%}
    {%- if is_incremental() and (config.get('incremental_strategy') or 'append') == 'append' -%}
      {{ exceptions.raise_compiler_error(
        this ~ ' appends what is new in ' ~ relation ~ ', and can no longer tell what that is: ' ~ relation.identifier
        ~ ' was replaced since, or the note of the last run is gone. Run again with --full-refresh.'
      ) }}
    {%- endif -%}
    {{ return(relation) }}
  {%- elif not read.has_changed -%}
    {{ return('(select * from ' ~ relation ~ ' where false)') }}
  {%- else -%}
    {{ return(changed_rows_sql(relation, read.last + 1, read.version)) }}
  {%- endif -%}
{% endmacro %}


{% macro changed_rows_sql(relation, first_version, last_version) %}
  (
    select * except (_change_type, _commit_version, _commit_timestamp)
    from {{ table_changes_sql(relation, first_version, last_version) }}
    where _change_type in ('insert', 'update_postimage')
  )
{% endmacro %}


{#
  By path, not by name: in a query that reads the table as well, Spark takes `table_changes('name')` for the table itself (it
  remembers a relation by its name alone), and every row would count as changed.
#}
{% macro table_changes_sql(relation, first_version, last_version) -%}
  table_changes_by_path('{{ adapter.table_location(relation) }}', {{ first_version }}, {{ last_version }})
{%- endmacro %}


{#
  The distinct values of an expression among the rows that were added, changed or removed since this model last ran: as a
  relation of one column, `name`. On a first or full run, of all rows.
#}
{% macro changed_values(relation, expression, name) %}
  {%- set rows = relation -%}
  {%- if execute -%}
    {%- set read = adapter.read_input(this if is_incremental() else none, relation) -%}
    {%- if read.last is not none -%}
      {%- if read.has_changed -%}
        {%- set rows = table_changes_sql(relation, read.last + 1, read.version) -%}
      {%- else -%}
        {%- set rows = '(select * from ' ~ relation ~ ' where false)' -%}
      {%- endif -%}
    {%- endif -%}
  {%- endif -%}
  (select distinct {{ expression }} as {{ name }} from {{ rows }})
{% endmacro %}


{# True on a first or full run, or if the input was written to since this model last ran. #}
{% macro has_changed(relation) %}
  {{ return(execute and (relation.is_cte or adapter.read_input(this if is_incremental() else none, relation).has_changed)) }}
{% endmacro %}
