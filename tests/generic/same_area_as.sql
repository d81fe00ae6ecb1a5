{#- Sums of areas by key, on both sides: what one side has and the other has not counts as an area of nothing. -#}
{% test same_area_as(
    model, to, by=none, to_by=none, tolerance=0.000001, geometry='geometry', to_geometry='geometry'
) %}
{%- set keys = [] if by is none else ([by] if by is string else by) %}
{%- set to_keys = keys if to_by is none else ([to_by] if to_by is string else to_by) %}
with

ours as (

    select
        {% for name in keys %}{{ name }} as key_{{ loop.index }}, {% endfor %}
        sum(area_m2({{ geometry }})) as total_m2

    from {{ model }}

    group by {{ (keys or ['true']) | join(', ') }}

),

theirs as (

    select
        {% for name in to_keys %}{{ name }} as key_{{ loop.index }}, {% endfor %}
        sum(area_m2({{ to_geometry }})) as total_m2

    from {{ to }}

    group by {{ (to_keys or ['true']) | join(', ') }}

),

compared as (

    select
        {% for name in keys %}coalesce(ours.key_{{ loop.index }}, theirs.key_{{ loop.index }}) as {{ name }}, {% endfor %}
        coalesce(ours.total_m2, 0) as area_m2,
        coalesce(theirs.total_m2, 0) as other_area_m2

    from ours
    full outer join theirs
        on true {% for name in keys %}and ours.key_{{ loop.index }} <=> theirs.key_{{ loop.index }} {% endfor %}

)

select
    *,
    concat(round(area_m2, 3), ' m2 here, ', round(other_area_m2, 3), ' m2 there') as reason
from compared
where abs(area_m2 - other_area_m2) > {{ tolerance }} * greatest(area_m2, other_area_m2)
{% endtest %}
