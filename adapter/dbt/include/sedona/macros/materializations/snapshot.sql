{#
  dbt-spark's snapshot, but for one that copies a single table which has not changed since: merging it again would find
  nothing, and costs as much as if it did.
#}
{% materialization snapshot, adapter='sedona' %}
  {%- set copied = _copied_relation() -%}
  {%- if copied is not none -%}
    {%- set existing = load_relation(this) -%}
    {%- set noted_in = existing if existing and existing.is_delta else none -%}
    {%- do adapter.read_input(noted_in, copied) -%}
    {%- do adapter.note_change('config', not adapter.is_as_noted(noted_in, 'config', tojson(model.config, sort_keys=true))) -%}
    {%- if adapter.has_nothing_new() -%}
      {{ run_hooks(pre_hooks, inside_transaction=False) }}
      {{ run_hooks(pre_hooks, inside_transaction=True) }}
      {%- do log(this ~ ': nothing new in ' ~ copied ~ ', nothing written') -%}
      {%- call noop_statement('main', 'NOTHING NEW', 'NOTHING NEW', 0) -%} {%- endcall -%}
      {{ run_hooks(post_hooks, inside_transaction=True) }}
      {{ run_hooks(post_hooks, inside_transaction=False) }}
      {{ return({'relations': [existing]}) }}
    {%- endif -%}
  {%- endif -%}
  {{ return(materialization_snapshot_spark()) }}
{% endmaterialization %}


{# Both are asked for right before the statement that writes the rows: its commit carries the note. #}
{% macro sedona__snapshot_merge_sql(target, source, insert_cols) %}
  {%- set sql = spark__snapshot_merge_sql(target, source, insert_cols) -%}
  {%- do adapter.note_inputs() -%}
  {{ return(sql) }}
{% endmacro %}


{% macro sedona__build_snapshot_table(strategy, sql) %}
  {%- set built = default__build_snapshot_table(strategy, sql) -%}
  {%- do adapter.note_inputs() -%}
  {{ return(built) }}
{% endmacro %}


{# The Delta table of which this snapshot is a plain `select *`, as it is with `relation:` in YAML; otherwise none. #}
{% macro _copied_relation() %}
  {%- set words = (model.compiled_code | replace('`', '') | lower).split() -%}
  {%- if words | length == 4 and words[:3] == ['select', '*', 'from'] and model.depends_on.nodes | length == 1 -%}
    {%- set name = words[3].split('.') -%}
    {%- set relation = adapter.get_relation(none, name[0], name[1]) if name | length == 2 -%}
    {# A table that was made by this very run is in dbt's cache without its format; the model's config has it. #}
    {%- set copied = graph.nodes.get(model.depends_on.nodes[0]) -%}
    {%- if relation and relation.is_table and (relation.is_delta or copied and copied.config.file_format == 'delta') -%}
      {{ return(relation) }}
    {%- endif -%}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}
