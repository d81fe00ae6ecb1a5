{#
  For an incremental join of points with shapes, by the strategy replace_where: the cells to compute again, where a point or a
  shape was added, changed or removed since this model last ran. Gives two conditions: `points`, on the points' cell, which also
  names the rows that the run replaces, so that the model must have that column; and `shapes`, on the box of the shapes that
  matter there. Both are `true` on a first or full run.
#}
{% macro recompute_cells(points, shapes, cell='h3', resolution=7, stored_resolution=none, distance_m=none) %}
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
    {%- set conditions = whole -%}
    {%- set last = this if is_incremental() else none -%}
    {%- set reads = {'points': adapter.read_input(last, points), 'shapes': adapter.read_input(last, shapes)} -%}
    {%- if reads.points.last is not none and reads.shapes.last is not none and _runs_statements() -%}
        {%- set conditions = adapter.call_python(
            'plan_touched_cells', points=_changes_to_look_at(points, reads.points), shapes=_changes_to_look_at(shapes, reads.shapes),
            column=cell, resolution=resolution, stored=stored, distance_m=distance_m
        ) -%}
    {%- endif -%}
    {%- do replace_where(conditions.points) -%}
    {{ return(conditions) }}
{% endmacro %}


{# Where the changes of an input are found since this model last ran; none if there are none. #}
{% macro _changes_to_look_at(relation, read) %}
    {{ return({
        'location': adapter.table_location(relation), 'first': read.last + 1, 'last': read.version
    } if read.has_changed else none) }}
{% endmacro %}
