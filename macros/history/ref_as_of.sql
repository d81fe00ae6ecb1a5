{# A model's table as it was at a version or a time, as something to select from. #}
{% macro ref_as_of(name, version=none, timestamp=none) %}
    {%- if (version is none) == (timestamp is none) -%}
        {{ exceptions.raise_compiler_error('ref_as_of: give either version or timestamp of ' ~ name) }}
    {%- endif -%}
    {%- set relation = ref(name) -%}
    {%- if not execute or relation.is_cte -%}
        {{ return(relation) }}
    {%- endif -%}
    {%- set found = _find_version('ref_as_of', relation, version if version is not none else timestamp | string) -%}
    {{ return(_as_of_sql(relation, found.version)) }}
{% endmacro %}


{# {version, columns} of a version number or the text of a time. #}
{% macro _find_version(macro, relation, at) %}
    {{ return(adapter.call_python('find_version', macro=macro, table=relation.render(), at=at)) }}
{% endmacro %}


{% macro _as_of_sql(relation, version) -%}
    (select * from {{ relation.render() }} version as of {{ version }})
{%- endmacro %}
