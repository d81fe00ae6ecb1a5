{#
  A merge that also takes rows out: `merge_delete_when` says which source rows mean "gone", and `merge_update_when` which
  matches really differ, so that files without a change are not rewritten. Both speak of `source` and `target`. The word `content`
  stands for "any column differs".
#}
{% macro sedona__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- set delete_when = config.get('merge_delete_when') -%}
  {%- set update_when = config.get('merge_update_when') -%}
  {%- if update_when == 'content' -%}
    {%- set update_when = _any_column_differs(adapter.get_columns_in_relation(target)) -%}
  {%- endif -%}
  {%- if not delete_when and not update_when -%}
    {{ spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) }}
  {%- else -%}
    {%- if not unique_key -%}
      {{ exceptions.raise_compiler_error('merge_delete_when and merge_update_when need a unique_key: ' ~ model.name ~ ' has none') }}
    {%- endif -%}
    {%- set keys = [unique_key] if unique_key is string else unique_key -%}
    {%- set conditions = [] + (incremental_predicates or []) -%}
    {%- set columns = get_merge_update_columns(
      config.get('merge_update_columns'), config.get('merge_exclude_columns'), adapter.get_columns_in_relation(target)
    ) -%}
    {%- for key in keys -%}
      {%- do conditions.append('source.' ~ key ~ ' = target.' ~ key) -%}
    {%- endfor -%}
    merge into {{ target }} as target
    using {{ source }} as source
    on {{ conditions | join(' and ') }}
    {% if delete_when -%} when matched and ({{ delete_when }}) then delete {%- endif %}
    when matched {% if update_when %}and ({{ update_when }}){% endif %} then update set
    {%- for column in columns or [] %} {{ column }} = source.{{ column }}{{ ',' if not loop.last }}{% else %} *{% endfor %}
    {# A condition that is null is not true: such a row is no deletion, and must not get lost. #}
    when not matched {% if delete_when %}and not coalesce(({{ delete_when }}), false){% endif %} then insert *
  {%- endif -%}
{% endmacro %}


{# Spark can't compare maps: their text stands for them. #}
{% macro _any_column_differs(columns) -%}
  not (
  {%- for column in columns -%}
    {%- set pair = ['source.' ~ column.quoted, 'target.' ~ column.quoted] -%}
    {{ ' and ' if not loop.first }}
    {%- if 'map<' in column.dtype %} to_json({{ pair[0] }}) <=> to_json({{ pair[1] }})
    {%- else %} {{ pair[0] }} <=> {{ pair[1] }}
    {%- endif -%}
  {%- endfor -%}
  )
{%- endmacro %}


{# Replaces the rows that the model's `replace_where(...)` names by the model's rows, in one commit. #}
{% macro get_replace_where_sql(source, target) %}
  {%- set predicate = adapter.replace_predicate() -%}
  {%- if not predicate -%}
    {{ exceptions.raise_compiler_error(
      'The strategy replace_where needs the rows to replace: call replace_where("<condition on this table>") in ' ~ model.name
    ) }}
  {%- endif -%}
  {%- set columns = adapter.get_columns_in_relation(target) | map(attribute='quoted') | join(', ') -%}
  insert into {{ target }} replace where {{ predicate }}
  select {{ columns }} from {{ source }}
{% endmacro %}


{% macro replace_where(predicate) %}
  {%- do adapter.set_replace_predicate(predicate) -%}
{% endmacro %}
