{#
  The change feed of a model's table after one version or time, up to and with another: its rows before and after each
  change, with _change_type, _commit_version and _commit_timestamp.
#}
{% macro changes_between(name, before, after) %}
    {%- set relation = ref(name) -%}
    {%- if not execute or relation.is_cte -%}
        {{ return(_no_changes_sql(relation)) }}
    {%- endif -%}
    {%- set first = _find_version('changes_between', relation, before).version -%}
    {%- set last = _find_version('changes_between', relation, after).version -%}
    {%- if first > last -%}
        {{ exceptions.raise_compiler_error(
            'changes_between: the earlier version comes first; of ' ~ relation ~ ' came ' ~ first ~ ', then ' ~ last
        ) }}
    {%- endif -%}
    {%- do _check_feed('changes_between', relation) -%}
    {{ return(_no_changes_sql(relation) if first == last else _feed_sql(relation, first + 1, last)) }}
{% endmacro %}


{% macro _check_feed(macro, relation) %}
    {%- if adapter.delta_properties(relation).get('delta.enableChangeDataFeed') != 'true' -%}
        {{ exceptions.raise_compiler_error(
            macro ~ ': ' ~ relation ~ " keeps no change feed. Give its model tblproperties={'delta.enableChangeDataFeed': 'true'}"
            ~ ' and run it; changes are kept from then on'
        ) }}
    {%- endif -%}
{% endmacro %}


{% macro _feed_sql(relation, first_version, last_version) -%}
    (select * from {{ table_changes_sql(relation, first_version, last_version) }})
{%- endmacro %}


{% macro _no_changes_sql(relation) -%}
    (select * from {{ _as_inserts_sql(relation, 'null') }} where false)
{%- endmacro %}


{# All rows of a relation, as the change feed would give them had they been added at a version. #}
{% macro _as_inserts_sql(relation, version) -%}
    (
        select
            *,
            'insert' as _change_type,
            cast({{ version }} as bigint) as _commit_version,
            cast(null as timestamp) as _commit_timestamp
        from {{ relation }}
    )
{%- endmacro %}
