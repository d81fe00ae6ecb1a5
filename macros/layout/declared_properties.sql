{# The table properties of a model: those of its config, and `geostrata.geo` where it says what its geometry is. #}
{% macro declared_properties(node) %}
    {%- set declared = {} -%}
    {%- do declared.update(node.config.get('tblproperties') or {}) -%}
    {%- if 'geometry_types' in (node.config.meta or {}) -%}
        {%- do declared.update({'geostrata.geo': tojson(geo_metadata(node.config.meta.geometry_types))}) -%}
    {%- endif -%}
    {{ return(declared) }}
{% endmacro %}


{# The adapter asks for this where it creates a table: the properties are there from the first commit. #}
{% macro sedona__table_properties() -%}
    {%- if model.config.materialized == 'view' -%}
        {{ return(_view_properties()) }}
    {%- endif -%}
    {# Of a seed, a snapshot or a Python model the columns are known once there is a table; the post-hook goes on from there. #}
    {%- set sql = model.compiled_code if model.resource_type == 'model' and model.language == 'sql' else none -%}
    {{ return(adapter.call_python('wanted_properties', facts=layout_facts(model), sql=sql)) }}
{%- endmacro %}


{# A view has no files: what speaks of them is not for it. #}
{% macro _view_properties() %}
    {%- set kept = {} -%}
    {%- for name, value in declared_properties(model).items() if value is not none and not name.startswith('delta.') -%}
        {%- do kept.update({name: value}) -%}
    {%- endfor -%}
    {{ return(kept) }}
{% endmacro %}
