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
  {%- elif adapter.only_appends(relation, read.last + 1, read.version) -%}
    {{ return(changed_rows_sql(relation, read.last + 1, read.version)) }}
  {%- else -%}
    {{ return(net_rows_sql(relation, read.last + 1, read.version)) }}
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
  What several commits come to: a row that was changed twice comes once, as it is now, and one that was added and removed again does
  not come. Rows are told apart by all they hold, since a relation need not have a key.
#}
{% macro net_rows_sql(relation, first_version, last_version) %}
  {%- set columns = adapter.get_columns_in_relation(relation) | map(attribute='quoted') | join(', ') -%}
  (
    select {{ columns }}
    from (
      select {{ columns }}, sum(if(_change_type in ('insert', 'update_postimage'), 1, -1)) as _net_count
      from {{ table_changes_sql(relation, first_version, last_version) }}
      group by {{ columns }}
    )
    lateral view explode(sequence(1, _net_count)) as _copy
    where _net_count > 0
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


{#
  dbt's own question, and one more: False as well where what the table holds can't be brought up to date in parts, because the model was
  edited or an input was replaced since. Then the model is computed whole, as with --full-refresh.
#}
{% macro is_incremental() %}
  {%- if not execute -%} {{ return(false) }} {%- endif -%}
  {%- set relation = load_relation(this) -%}
  {{ return(
    relation is not none and relation.type == 'table' and model.config.materialized == 'incremental'
    and not should_full_refresh() and not must_rebuild(relation)
  ) }}
{% endmacro %}


{# Tables that are append-only or set `full_refresh: false` hold what can't be computed again: they only say that they are behind. #}
{% macro must_rebuild(relation) %}
  {%- if not relation.is_delta or model.config.materialized != 'incremental' -%} {{ return(false) }} {%- endif -%}
  {%- set decision = adapter.rebuild_decision(relation) -%}
  {%- if decision is not none -%} {{ return(decision) }} {%- endif -%}
  {%- set properties = config.get('tblproperties') or {} -%}
  {%- set can_rebuild = config.get('full_refresh') is not false and properties.get('delta.appendOnly') | string | lower != 'true' -%}
  {{ return(adapter.must_rebuild(relation, model, _variables_used(), adapter.dispatch('model_facts', 'dbt')(), can_rebuild)) }}
{% endmacro %}


{# All rows are about to be made by the code as it is. #}
{% macro note_code() %}
  {%- do adapter.use_code(model, _variables_used(), adapter.dispatch('model_facts', 'dbt')()) -%}
{% endmacro %}


{% macro _variables_used() %}
  {%- set variables = {} -%}
  {%- for name in adapter.model_variables(model) -%}
    {%- do variables.update({name: var(name, none)}) -%}
  {%- endfor -%}
  {{ return(variables) }}
{% endmacro %}


{# What else decides about a model's rows, such as rules in its YAML. A project overrides it. #}
{% macro sedona__model_facts() %}
  {{ return(none) }}
{% endmacro %}


{# True on a first or full run, or if the input was written to since this model last ran. #}
{% macro has_changed(relation) %}
  {{ return(execute and (relation.is_cte or adapter.read_input(this if is_incremental() else none, relation).has_changed)) }}
{% endmacro %}
