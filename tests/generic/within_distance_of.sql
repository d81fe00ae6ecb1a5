{% test within_distance_of(
    model, to, key, distance_m, geometry='geometry', to_geometry='geometry'
) %}
{%- set keys = [key] if key is string else key %}
select
    *,
    'nothing within {{ distance_m }} m' as reason
from {{ spatial_join(
    model, to, predicate='dwithin', how='anti', distance_m=distance_m, left_columns=keys + [geometry],
    left_geometry=geometry, right_geometry=to_geometry
) }}
-- what is nowhere is no nearer to anything, and other tests speak of it
where has_place({{ geometry }})
{% endtest %}
