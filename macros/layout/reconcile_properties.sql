{# Sets the declared table properties that the table lacks or has otherwise; no commit where nothing differs. #}
{% macro reconcile_properties(relation) %}
    {%- set declared = declared_properties() -%}
    {%- set present = adapter.delta_properties(relation) -%}
    {%- set differing = {} -%}
    {%- for name, value in declared.items() if present.get(name) != value | string -%}
        {%- do differing.update({name: value | string}) -%}
    {%- endfor -%}
    {%- if differing -%}
        {%- do run_query(set_properties_sql(relation, differing)) -%}
    {%- endif -%}
{% endmacro %}


{% macro set_properties_sql(relation, properties) -%}
    alter table {{ relation }} set tblproperties {{ properties_sql(properties) }}
{%- endmacro %}


{% macro properties_sql(properties) -%}
    (
        {%- for name, value in properties.items() %}
        '{{ name }}' = '{{ value | string | replace("\\", "\\\\") | replace("'", "\\'") }}'{{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}
