{#
  What has changed since this model last ran, by Delta's change feed. Names the input, so that the version read is noted
  in the model's commit and a run in which no named input has changed writes nothing.
#}
{% macro new_rows(relation) %}
  {%- if not execute -%}
    {{ return(relation) }}
  {%- endif -%}
  {%- set read = adapter.read_input(this if is_incremental() else none, relation) -%}
  {%- if read.last is none -%}
    {{ return(relation) }}
  {%- elif not read.has_changed -%}
    {{ return('(select * from ' ~ relation ~ ' where false)') }}
  {%- else -%}
    {{ return(changed_rows_sql(relation, read.last + 1, read.version)) }}
  {%- endif -%}
{% endmacro %}


{% macro changed_rows_sql(relation, first_version, last_version) %}
  {%- set name = relation.schema ~ '.' ~ relation.identifier -%}
  (
    select * except (_change_type, _commit_version, _commit_timestamp)
    from table_changes('{{ name }}', {{ first_version }}, {{ last_version }})
    where _change_type in ('insert', 'update_postimage')
  )
{% endmacro %}


{# True on a first or full run, or if the input was written to since this model last ran. #}
{% macro has_changed(relation) %}
  {{ return(execute and adapter.read_input(this if is_incremental() else none, relation).has_changed) }}
{% endmacro %}
