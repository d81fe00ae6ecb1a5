{#- Polygons by area, lines by length, points one by one: what lies outside the union of the other relation's shapes. -#}
{% test covered_by(
    model, to, key, tolerance_m2=0.01, tolerance_m=0.001, geometry='geometry', to_geometry='geometry'
) %}
{%- set view = _view_name('covered_by') %}
{%- if _runs_statements() %}
{%- do adapter.call_python(
    'plan_uncovered', relation=_side_sql(model), key=key, geometry=geometry, cover=_side_sql(to),
    cover_geometry=to_geometry, view=view
) %}
{%- endif %}
select
    *,
    concat_ws(
        ' and ',
        case when area_m2 > {{ tolerance_m2 }} then concat(round(area_m2, 3), ' m2') end,
        case when length_m > {{ tolerance_m }} then concat(round(length_m, 3), ' m') end,
        case when points > 0 then concat(cast(points as bigint), ' points') end,
        'outside'
    ) as reason
from {{ view }}
where area_m2 > {{ tolerance_m2 }} or length_m > {{ tolerance_m }} or points > 0
{% endtest %}
