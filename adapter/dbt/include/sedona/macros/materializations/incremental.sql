{#
  dbt-spark's incremental, with three differences: a run whose named inputs have nothing new writes nothing; constraints are
  reconciled on every run, so that a run killed between two commits is made good by the next; and there is `replace_where`, which
  replaces a few rows that the driver has already without a Spark job.
#}
{% materialization incremental, adapter='sedona', supported_languages=['sql', 'python'] -%}
  {%- set file_format = dbt_spark_validate_get_file_format(config.get('file_format', default='delta')) -%}
  {%- set strategy = adapter.incremental_strategy() or config.get('incremental_strategy') or 'append' -%}
  {%- if strategy not in ['append', 'merge', 'insert_overwrite', 'microbatch', 'replace_where'] -%}
    {%- do exceptions.raise_compiler_error(
      'incremental_strategy must be append, merge, insert_overwrite, microbatch or replace_where, got ' ~ strategy
    ) -%}
  {%- elif strategy == 'merge' and file_format not in ['delta', 'iceberg', 'hudi'] or strategy == 'replace_where' and file_format != 'delta' -%}
    {%- do exceptions.raise_compiler_error('incremental_strategy ' ~ strategy ~ ' needs file_format delta, got ' ~ file_format) -%}
  {%- endif -%}
  {%- set language = model['language'] -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set predicates = config.get('predicates', none) or config.get('incremental_predicates', none) -%}
  {%- set known_relation = load_relation(this) -%}
  {%- set existing_relation = known_relation or kept_relation(this) -%}
  {%- set is_rebuild = existing_relation is none or existing_relation.is_view or should_full_refresh() or must_rebuild(existing_relation) -%}
  {%- set tmp_relation = this.incorporate(path={'identifier': this.identifier ~ '__dbt_tmp'}) -%}
  {%- if language == 'sql' -%}
    {%- set tmp_relation = tmp_relation.include(database=false, schema=false) -%}
  {%- endif -%}

  {%- set by_partition = strategy in ['insert_overwrite', 'microbatch'] and config.get('partition_by') -%}
  {%- if by_partition -%}
    {%- call statement() -%} set spark.sql.sources.partitionOverwriteMode = DYNAMIC {%- endcall -%}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {%- if is_rebuild -%}
    {%- if existing_relation is not none and not (file_format == 'delta' and existing_relation.is_delta) -%}
      {%- do adapter.drop_relation(existing_relation) -%}
    {%- elif file_format == 'delta' -%}
      {# Delta would refuse to replace it. The new table has the property again. #}
      {%- set closed = adapter.append_only_table(this, existing_relation is not none, config.get('location_root')) -%}
      {%- if closed is not none -%}
        {%- call statement() -%} alter table {{ closed }} set tblproperties ('delta.appendOnly' = 'false') {%- endcall -%}
      {%- endif -%}
    {%- endif -%}
    {%- call statement('main', language=language) -%}
      {{ create_table_as(False, this, compiled_code, language) }}
      {%- do note_code() -%}
      {%- do adapter.note_inputs() -%}
    {%- endcall -%}
  {# A table that only now has its name again was not there when the model was compiled: the next run adds to it. #}
  {%- elif adapter.has_nothing_new() or known_relation is none -%}
    {%- if flags.FULL_REFRESH -%}
      {# A table that keeps its rows all the same (`full_refresh: false`) at least has the columns of its model. #}
      {%- call statement('create_tmp_relation', language=language) -%}
        {{ create_table_as(True, tmp_relation, compiled_code, language) }}
      {%- endcall -%}
      {%- do process_schema_changes(on_schema_change, tmp_relation, existing_relation) -%}
    {%- endif -%}
    {%- do log(this ~ ': nothing new in its inputs, nothing written') -%}
    {%- call noop_statement('main', 'NOTHING NEW', 'NOTHING NEW', 0) -%} {%- endcall -%}
  {%- else -%}
    {%- call statement('create_tmp_relation', language=language) -%}
      {{ create_table_as(True, tmp_relation, compiled_code, language) }}
    {%- endcall -%}
    {%- do process_schema_changes(on_schema_change, tmp_relation, existing_relation) -%}
    {%- if strategy == 'replace_where' and adapter.replace_on_driver(tmp_relation, this) -%}
      {%- call noop_statement('main', 'OK', 'OK', 0) -%} {%- endcall -%}
    {%- else -%}
      {%- call statement('main') -%}
        {%- if strategy == 'replace_where' -%}
          {{ get_replace_where_sql(tmp_relation, this) }}
        {%- else -%}
          {{ dbt_spark_get_incremental_sql(strategy, tmp_relation, this, existing_relation, config.get('unique_key'), predicates) }}
        {%- endif -%}
        {%- do adapter.note_inputs() -%}
      {%- endcall -%}
    {%- endif -%}
    {%- if language == 'python' -%}
      {%- do adapter.drop_relation(tmp_relation.incorporate(type='table')) -%}
    {%- endif -%}
  {%- endif -%}
  {# The session goes on to other models: they must not overwrite by partition without asking. #}
  {%- if by_partition -%}
    {%- call statement() -%} reset spark.sql.sources.partitionOverwriteMode {%- endcall -%}
  {%- endif -%}
  {%- do persist_constraints(this, model) -%}

  {% do apply_grants(this, config.get('grants'), should_revoke(existing_relation, full_refresh_mode)) %}
  {%- if is_rebuild -%}
    {%- do persist_docs(this, model) -%}
  {%- endif -%}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [this.incorporate(type='table')]}) }}
{%- endmaterialization %}
