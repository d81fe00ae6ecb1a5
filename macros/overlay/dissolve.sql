{# The union of all shapes of a key, as something to select from. #}
{% macro dissolve(relation, by, geometry='geometry') %}
    {%- set view = _view_name('dissolve') -%}
    {%- if _runs_statements() -%}
        {%- do adapter.call_python(
            'plan_dissolve', relation=_side_sql(relation), by=by, geometry=geometry, view=view
        ) -%}
    {%- endif -%}
    {{ return(view) }}
{% endmacro %}
