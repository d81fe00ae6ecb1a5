{# dbt-spark's own, with text and names quoted by the adapter: theirs lets a backslash or a backtick end the quotes. #}
{% macro sedona__string_literal(value) -%}
  {{ adapter.quote_text(value) }}
{%- endmacro %}


{% macro sedona__comment_clause() %}
  {%- set persisted = config.get('persist_docs', {}) -%}
  {%- if persisted is not mapping -%}
    {{ exceptions.raise_compiler_error('persist_docs must be a mapping, got ' ~ persisted) }}
  {%- elif persisted.get('relation', false) -%}
    comment {{ adapter.quote_text(model.description) }}
  {%- endif -%}
{% endmacro %}


{% macro get_column_comment_sql(column_name, column_dict) -%}
  {%- set description = column_dict.get(column_name, {}).get('description') -%}
  {{ adapter.quote(column_name) }} {{ 'comment ' ~ adapter.quote_text(description) if description }}
{%- endmacro %}


{% macro sedona__alter_column_comment(relation, column_dict) %}
  {%- if config.get('file_format', default='delta') in ['delta', 'hudi', 'iceberg'] -%}
    {%- for name, column in column_dict.items() -%}
      {%- do run_query(
        'alter table ' ~ relation ~ (' alter' if relation.is_iceberg else ' change') ~ ' column ' ~ adapter.quote(name)
        ~ ' comment ' ~ adapter.quote_text(column.description)
      ) -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{% macro sedona__alter_column_type(relation, column_name, new_column_type) -%}
  {%- call statement('alter_column_type') -%}
    alter table {{ relation }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {%- endcall -%}
{% endmacro %}


{% macro sedona__create_columns(relation, columns) %}
  {%- if columns -%}
    {%- call statement() -%}
      alter table {{ relation }} add columns (
      {%- for column in columns %} {{ column.quoted }} {{ column.data_type }}{{ ',' if not loop.last }}{% endfor -%}
      )
    {%- endcall -%}
  {%- endif -%}
{% endmacro %}
