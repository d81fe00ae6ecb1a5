{#- A geometry type of the engine's own in a schema would lock every other reader out. -#}
{% test has_no_engine_types(model) %}

{%- set found = [] %}
{%- if execute %}
{%- for column in adapter.get_columns_in_relation(model)
    if modules.re.search('\\b(udt|geometry|geography|raster)\\b', column.dtype | lower) %}
    {%- do found.append("'" ~ column.name ~ "'") %}
{%- endfor %}
{%- endif %}

    select column_name
    from (select explode(array({{ found | join(', ') }})) as column_name)
{% endtest %}
