{#- Equal as sets of points: where a ring begins, which way it runs and corners exactly on an edge make no difference. -#}
{% test no_duplicate_geometry(model, key, geometry='geometry') %}
{%- set view = _view_name('no_duplicate_geometry') %}
{%- set keys = [key] if key is string else key %}
{%- if _runs_statements() %}
{%- do adapter.call_python('plan_duplicates', relation=_side_sql(model), key=keys, geometry=geometry, view=view) %}
{%- endif %}
select
    *,
    concat('the same shape as ', concat_ws(', ', other_{{ keys | join(', other_') }})) as reason
from {{ view }}
{% endtest %}
