{% test geometry_is_valid(model) %}
    select *
    from {{ model }}
    where coalesce(not st_isvalid(st_geomfromwkb(geometry)), true)
{% endtest %}
