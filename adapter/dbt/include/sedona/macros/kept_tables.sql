{#
  Rows that can't be computed again: those of tables with `full_refresh: false`, such as logs, and of append-only tables. Nothing takes
  such a table away but a person.
#}

{# A catalog that was lost, or a run killed before the catalog knew of its table: what lies there is given its name again. #}
{% macro kept_relation(relation) %}
  {%- if config.get('full_refresh') is not false or config.get('file_format', 'delta') != 'delta' -%} {{ return(none) }} {%- endif -%}
  {%- set location = adapter.unnamed_location(relation, config.get('location_root')) -%}
  {%- if location is none -%} {{ return(none) }} {%- endif -%}
  {%- call statement() -%} create table {{ relation }} using delta location '{{ location | replace("\\", "\\\\") | replace("'", "\\'") }}' {%- endcall -%}
  {%- do log(relation ~ ': the catalog did not know it; its rows are kept', info=true) -%}
  {{ return(relation.incorporate(type='table', is_delta=true)) }}
{% endmacro %}


{# A model that has become a view would drop the table that has the name; so would `dbt clone` of a view. #}
{% macro sedona__handle_existing_table(full_refresh, old_relation) %}
  {%- if config.get('full_refresh') is false or old_relation.is_delta and adapter.delta_properties(old_relation).get('delta.appendOnly') == 'true' -%}
    {{ exceptions.raise_compiler_error(
      old_relation ~ ': a view would take its place, and its rows can not be computed again. Rename or drop the table first.'
    ) }}
  {%- endif -%}
  {{ return(default__handle_existing_table(full_refresh, old_relation)) }}
{% endmacro %}
