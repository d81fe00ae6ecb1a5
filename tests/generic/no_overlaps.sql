{#- Most neighbours touch, and touching is no overlap: GEOS is asked about interiors first, and about areas of the few left. -#}
{% test no_overlaps(model, key, tolerance_m2=0.01, geometry='geometry') %}
{%- set view = _view_name('no_overlaps') %}
{%- set keys = [key] if key is string else key %}
{%- if _runs_statements() %}
{%- do adapter.call_python(
    'plan_overlapping', relation=_side_sql(model), key=keys, geometry=geometry, tolerance_m2=tolerance_m2, view=view
) %}
{%- endif %}
select
    *,
    concat('overlaps ', concat_ws(', ', other_{{ keys | join(', other_') }}), ' by ', round(area_m2, 3), ' m2') as reason
from {{ view }}
{% endtest %}
