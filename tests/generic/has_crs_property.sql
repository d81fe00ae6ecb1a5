{#- Any reader must find encoding, CRS and geometry types in the table property `geostrata.geo`. -#}
{% test has_crs_property(model) %}

{%- set found = namespace(crs=none) %}
{%- if execute %}
{%- for row in fetch_tbl_properties(model).rows if row[0] == 'geostrata.geo' %}
    {%- set found.crs = fromjson(row[1]).columns.geometry.crs.id.code %}
{%- endfor %}
{%- endif %}

    select '{{ model.identifier }}' as table_without_crs
    where {{ 'false' if found.crs == 'CRS84' else 'true' }}
{% endtest %}
