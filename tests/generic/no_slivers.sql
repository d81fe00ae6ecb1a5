{#- Thin is what is narrower than a width or, if a compactness is given, far from round. Judged polygon by polygon. -#}
{% test no_slivers(model, key, min_width_m=0.5, min_compactness=0, geometry='geometry') %}
with

measured as (

    select
        {{ key if key is string else key | join(',\n        ') }},
        thinnest_part({{ geometry }}) as part

    from {{ model }}

)

select
    *,
    concat(
        'a polygon of ', round(part.area_m2, 3), ' m2, ', round(part.width_m, 3), ' m wide on average, compactness ',
        round(part.compactness, 4)
    ) as reason
from measured
where part.width_m < {{ min_width_m }} or part.compactness < {{ min_compactness }}
{% endtest %}
