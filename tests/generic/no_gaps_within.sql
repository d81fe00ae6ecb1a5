{#- What the union of all shapes leaves out of each shape of another relation, one row a gap. -#}
{% test no_gaps_within(model, outer, key, tolerance_m2=0.01, geometry='geometry', outer_geometry='geometry') %}
{%- set view = _view_name('no_gaps_within') %}
{%- if _runs_statements() %}
{%- do adapter.call_python(
    'plan_gaps', outer=_side_sql(outer), key=key, outer_geometry=outer_geometry, cover=_side_sql(model),
    geometry=geometry, tolerance_m2=tolerance_m2, view=view
) %}
{%- endif %}
select
    *,
    concat('a gap of ', round(area_m2, 3), ' m2 near ', st_astext(st_pointonsurface(st_geomfromwkb(geometry)))) as reason
from {{ view }}
{% endtest %}
