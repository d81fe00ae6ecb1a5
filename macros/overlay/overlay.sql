{#
  The common part of every pair of shapes that share area, as something to select from. Which side every worker holds, or
  whether both are dealt out by tiles, follows from their sizes; the answer does not.
#}
{% macro overlay(
    left, right, left_columns=none, right_columns=none, min_area_m2=0,
    left_geometry='geometry', right_geometry='geometry', plan=none
) %}
    {%- set view = _view_name('overlay') -%}
    {%- if min_area_m2 is not number or min_area_m2 < 0 -%}
        {{ exceptions.raise_compiler_error('overlay: min_area_m2 must be 0 or more, got ' ~ min_area_m2) }}
    {%- endif -%}
    {%- if _runs_statements() -%}
        {%- do adapter.call_python(
            'plan_overlay', left=_side_sql(left), right=_side_sql(right), view=view, left_columns=left_columns,
            right_columns=right_columns, min_area_m2=min_area_m2, left_geometry=left_geometry,
            right_geometry=right_geometry, plan=plan
        ) -%}
    {%- endif -%}
    {{ return(view) }}
{% endmacro %}
