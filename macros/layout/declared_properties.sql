{# The table properties of the model at hand: those in its config, and `geostrata.geo` where it says what its geometry is. #}
{% macro declared_properties() %}
    {%- set declared = {} -%}
    {%- do declared.update(config.get('tblproperties', {})) -%}
    {%- if 'geometry_types' in model.config.meta -%}
        {%- do declared.update({'geostrata.geo': tojson(geo_metadata(model.config.meta.geometry_types))}) -%}
    {%- endif -%}
    {{ return(declared) }}
{% endmacro %}


{# The adapter asks for this where it creates a table: the properties are there from the first commit. #}
{% macro sedona__table_properties() -%}
    {{ return(declared_properties()) }}
{%- endmacro %}
