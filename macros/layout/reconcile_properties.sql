{# Unsets what is ours and no longer declared, then sets what differs: killed in between, the next run knows what is left. #}
{% macro reconcile_properties(relation, upkeep) %}
    {%- if upkeep.unset -%}
        {%- do run_query(unset_properties_sql(relation, upkeep.unset)) -%}
    {%- endif -%}
    {%- if upkeep.set -%}
        {%- do run_query(set_properties_sql(relation, upkeep.set)) -%}
    {%- endif -%}
    {%- if upkeep.drift -%}
        {%- do log(relation ~ ': ' ~ upkeep.drift | join('; '), info=true) -%}
    {%- endif -%}
{% endmacro %}


{% macro set_properties_sql(relation, properties) -%}
    alter table {{ relation }} set {{ tblproperties_sql(properties) | trim }}
{%- endmacro %}


{% macro unset_properties_sql(relation, names) -%}
    alter table {{ relation }} unset tblproperties if exists ('{{ names | join("', '") }}')
{%- endmacro %}
