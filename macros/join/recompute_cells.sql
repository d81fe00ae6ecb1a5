{#
  For an incremental join of points with shapes, by the strategy replace_where: the cells to compute again, where a point or a
  shape was added, changed or removed since this model last ran. Gives two conditions: `points`, on the points' cell, which also
  names the rows that the run replaces, so that the model must have that column; and `shapes`, on the box of the shapes that
  matter there. Both are `true` on a first or full run.
#}
{% macro recompute_cells(points, shapes, cell='h3', resolution=7, stored_resolution=none, distance_m=0) %}
    {%- set stored = stored_resolution if stored_resolution is not none else var('h3_resolution') -%}
    {%- do _check_h3_resolution('recompute_cells', resolution) -%}
    {%- do _check_h3_resolution('recompute_cells', stored) -%}
    {%- if resolution > stored -%}
        {{ exceptions.raise_compiler_error(
            'recompute_cells: resolution must be at most that of the stored cells, ' ~ stored ~ ', got ' ~ resolution
        ) }}
    {%- endif -%}
    {%- set whole = {'points': 'true', 'shapes': 'true'} -%}
    {%- if not execute -%}
        {{ return(whole) }}
    {%- endif -%}
    {%- set touched_points = changed_values(points, h3_parent(cell, resolution), 'cell') -%}
    {%- set touched_shapes = changed_values(shapes, 'geometry', 'geometry') -%}
    {%- set conditions = whole -%}
    {%- set last = this if is_incremental() else none -%}
    {%- set is_whole = adapter.read_input(last, points).last is none or adapter.read_input(last, shapes).last is none -%}
    {%- if not is_whole and _runs_statements() -%}
        {%- set conditions = adapter.call_python(
            'plan_touched_cells', points=touched_points if has_changed(points) else none,
            shapes=touched_shapes if has_changed(shapes) else none, column=cell, resolution=resolution,
            stored=stored, distance_m=distance_m
        ) -%}
    {%- endif -%}
    {%- do replace_where(conditions.points) -%}
    {{ return(conditions) }}
{% endmacro %}
