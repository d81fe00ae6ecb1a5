{#
  A new table is born with its constraints: they are table properties of the statement that writes the rows, so that rows
  which break one are never committed, and the old table stays. An ALTER afterwards would come too late, and be a scan more.
#}
{% macro sedona__tblproperties_clause() -%}
  {%- set properties = {} -%}
  {%- do properties.update(adapter.dispatch('table_properties', 'dbt')()) -%}
  {%- if config.get('contract').enforced and config.get('file_format', 'delta') == 'delta' -%}
    {%- for name, expression in _wanted_constraints(model).items() -%}
      {%- do properties.update({'delta.constraints.' ~ name: expression}) -%}
    {%- endfor -%}
  {%- endif -%}
  {{- tblproperties_sql(properties) -}}
{%- endmacro -%}


{% macro tblproperties_sql(properties) -%}
  {%- do adapter.check_properties(this, properties) -%}
  {%- if properties %}
    tblproperties (
      {%- for name, value in properties.items() %}
      {{ adapter.quote_text(name) }} = {{ adapter.quote_text(value) }}{{ ',' if not loop.last }}
      {%- endfor %}
    )
  {%- endif %}
{%- endmacro %}


{# The properties of a new table besides its constraints. A project that derives some overrides this one. #}
{% macro sedona__table_properties() %}
  {{ return(config.get('tblproperties') or {}) }}
{% endmacro %}


{# CHECK constraints as the contract has them: missing ones are added, ours that are no longer declared are dropped. #}
{% macro sedona__persist_constraints(relation, model) %}
  {%- if config.get('contract').enforced and config.get('file_format', 'delta') == 'delta' -%}
    {%- set wanted = _wanted_constraints(model) -%}
    {%- set present = {} -%}
    {%- for name, value in adapter.delta_properties(relation).items() if name.startswith('delta.constraints.') -%}
      {%- do present.update({name[18:]: value}) -%}
    {%- endfor -%}
    {%- for name in present if name.startswith('dbt_') and name not in wanted -%}
      {%- call statement() -%} alter table {{ relation }} drop constraint {{ name }} {%- endcall -%}
    {%- endfor -%}
    {%- for name, expression in wanted.items() if name not in present -%}
      {%- call statement() -%} alter table {{ relation }} add constraint {{ name }} check ({{ expression }}) {%- endcall -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{#
  Names carry a hash of the expression, so that a changed one is another. What columns ask for is one constraint together:
  every ALTER is a commit and a scan.
#}
{% macro _wanted_constraints(model) %}
  {%- set wanted = {} -%}
  {%- for constraint in model.constraints if constraint.type == 'check' -%}
    {%- set hash = local_md5(constraint.expression)[:8] -%}
    {# Delta keeps names in lower case. #}
    {%- do wanted.update({'dbt_' ~ ((constraint.name or 'check') | lower) ~ '_' ~ hash: constraint.expression}) -%}
  {%- endfor -%}
  {%- for constraint in model.constraints if constraint.type == 'not_null' -%}
    {%- for column in constraint.columns -%}
      {%- do wanted.update({'dbt_not_null_' ~ (column | lower): column ~ ' is not null'}) -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- set checks = [] -%}
  {%- for column in model.columns.values() -%}
    {%- set name = adapter.quote(column.name) if column.quote else column.name -%}
    {%- for constraint in column.constraints -%}
      {%- if constraint.type == 'not_null' -%}
        {%- do checks.append(name ~ ' is not null') -%}
      {%- elif constraint.type == 'check' -%}
        {%- do checks.append('(' ~ constraint.expression ~ ')') -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- if checks -%}
    {%- set expression = checks | join(' and ') -%}
    {%- do wanted.update({'dbt_columns_' ~ local_md5(expression)[:8]: expression}) -%}
  {%- endif -%}
  {{ return(wanted) }}
{% endmacro %}
