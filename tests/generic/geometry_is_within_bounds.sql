{% test geometry_is_within_bounds(model) %}
    select *
    from {{ model }}
    where coalesce(not (bbox.xmin >= -180 and bbox.ymin >= -90 and bbox.xmax <= 180 and bbox.ymax <= 90), true)
{% endtest %}
