{#
  The H3 cells that cover each polygon, as something to select from: the key, `h3`, `is_core` and `chip`. A point with that cell is in the shape if
  the cell is core or the chip contains it, and only then. Worth a table of its own: it is made once and joined often.
#}
{% macro tessellate(relation, key, resolution=none, geometry='geometry') %}
    {%- if resolution is not none -%}
        {%- do _check_h3_resolution('tessellate', resolution) -%}
    {%- endif -%}
    {%- if key in ['h3', 'is_core', 'chip'] -%}
        {{ exceptions.raise_compiler_error('tessellate: key must not be called h3, is_core or chip as the outcome\'s own columns are, got ' ~ key) }}
    {%- endif -%}
    {%- set view = _view_name('tessellate') -%}
    {%- if not _runs_statements() -%}
        {{ return(view) }}
    {%- endif -%}
    {%- set told = adapter.call_python(
        'plan_tessellation', shapes=_side_sql(relation), key=key, geometry=geometry, resolution=resolution, view=view
    ) -%}
    {%- do log('tessellate in ' ~ this.identifier ~ ': ' ~ told, info=resolution is none) -%}
    {{ return(view) }}
{% endmacro %}
