{#
  A seed is one statement, rows and all: dbt-spark drops the table, creates an empty one and then fills it, and a process
  killed in between leaves a table without rows, or a folder that the next CREATE TABLE refuses.
  A seed whose file has not changed is left alone: the table carries a sum of what it was loaded from.
#}
{% macro sedona__create_csv_table(model, agate_table) %}
  {%- if not _is_delta_seed() -%}
    {{ return(spark__create_csv_table(model, agate_table)) }}
  {%- endif -%}
  {%- set properties = adapter.dispatch('table_properties', 'dbt')() -%}
  {%- set statement -%}
    create or replace table {{ this.render() }}
    using delta
    {{ tblproperties_sql(dict(properties, **{'dbt.seed_sum': _seed_sum(model)})) }}
    {{ partition_cols(label="partitioned by") }}
    {{ location_clause() }}
    {{ comment_clause() }}
    as
    {{ _seed_rows(model, agate_table) }}
  {%- endset -%}
  {%- do adapter.add_query(statement, abridge_sql_log=True) -%}
  {{ return(statement) }}
{% endmacro %}


{% macro sedona__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {%- if not _is_delta_seed() -%}
    {{ return(spark__reset_csv_table(model, full_refresh, old_relation, agate_table)) }}
  {%- endif -%}
  {%- if not old_relation.is_delta -%}
    {%- do adapter.drop_relation(old_relation) -%}
  {%- elif not full_refresh and adapter.delta_properties(old_relation).get('dbt.seed_sum') == _seed_sum(model) -%}
    {{ return('-- unchanged since it was loaded') }}
  {%- endif -%}
  {{ return(create_csv_table(model, agate_table)) }}
{% endmacro %}


{% macro sedona__load_csv_rows(model, agate_table) %}
  {{ return('-- with the table' if _is_delta_seed() else spark__load_csv_rows(model, agate_table)) }}
{% endmacro %}


{# As incremental models, a seed that says nothing is a Delta table. #}
{% macro _is_delta_seed() %}
  {{ return(config.get('file_format', 'delta') == 'delta') }}
{% endmacro %}


{# Cells go over as text and are cast once a column, so that a column of numbers with an empty cell stays one of numbers. #}
{% macro _seed_rows(model, agate_table) %}
  {%- set types = model.config.get('column_types', {}) -%}
  select
  {%- for name in agate_table.column_names %}
    cast(_{{ loop.index0 }} as {{ types.get(name, adapter.convert_type(agate_table, loop.index0)) }}) as
    {{ adapter.quote_seed_column(name | string, model.config.get('quote_columns')) }}{{ ',' if not loop.last }}
  {%- endfor %}
  from values
  {%- for row in agate_table.rows or [agate_table.column_names] %}
    ({% for cell in row -%}
      {%- if cell is none -%} null {%- else -%} {{ adapter.quote_text(cell | string) }} {%- endif -%}
      {{ ', ' if not loop.last }}
    {%- endfor %}){{ ',' if not loop.last }}
  {%- endfor %}
  as cells ({% for name in agate_table.column_names %}_{{ loop.index0 }}{{ ', ' if not loop.last }}{% endfor %})
  {%- if not agate_table.rows %}
  where false
  {%- endif %}
{% endmacro %}


{# Files over 1 MiB are loaded by every run: dbt knows those by path only, so that a change would go unseen. #}
{% macro _seed_sum(model) %}
  {%- set content = model.checksum.checksum if model.checksum.name == 'sha256' else invocation_id -%}
  {{ return(local_md5(content ~ tojson(model.config, sort_keys=true))) }}
{% endmacro %}
