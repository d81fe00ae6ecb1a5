{#
  The rows of a relation that meet a window, as something to select from. The window is written into the statement: its boxes, by which Delta leaves
  out files that can't hold any of it, and its shape, which decides.
#}
{% macro within_window(relation, wkt=none, bbox=none, ref=none, geometry='geometry', predicate='intersects', covering='bbox') %}
    {%- set given = [wkt, bbox, ref] | reject('none') | list -%}
    {%- if given | length != 1 -%}
        {{ exceptions.raise_compiler_error('within_window: give exactly one of wkt, bbox and ref, got ' ~ (given | length)) }}
    {%- endif -%}
    {%- if predicate not in ['intersects', 'contains', 'within'] -%}
        {{ exceptions.raise_compiler_error('within_window: predicate must be intersects, contains or within, got ' ~ predicate) }}
    {%- endif -%}
    {%- if not execute or (ref is not none and not _runs_statements()) -%}
        {{ return(relation) }}
    {%- endif -%}
    {%- set window = adapter.call_python(
        'plan_window', wkt=wkt, bbox=bbox, shapes='select ' ~ geometry ~ ' from ' ~ ref if ref is not none else none, relation=ref | string
    ) -%}
    {{ return(_within_window_sql(relation, window, geometry, predicate, covering)) }}
{% endmacro %}


{% macro _within_window_sql(relation, window, geometry, predicate, covering) -%}
    (
        select *
        from {{ relation }}
        where
            {%- if covering is not none %}
            (
                {%- for west, south, east, north in window.boxes %}
                {{ 'or ' if not loop.first }}(
                    {{ covering }}.xmin <= {{ east }} and {{ covering }}.xmax >= {{ west }}
                    and {{ covering }}.ymin <= {{ north }} and {{ covering }}.ymax >= {{ south }}
                )
                {%- endfor %}
            )
            and
            {%- endif %}
            st_{{ predicate }}(st_geomfromwkb({{ geometry }}), st_geomfromwkb(X'{{ window.wkb }}'))
    )
{%- endmacro %}
