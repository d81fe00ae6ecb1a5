{# The same join in plain SQL, every pair tested: for a handful of rows that no plan can read apart from the statement. #}
{% macro _spatial_join_sql(
    left, right, predicate, how, left_columns, right_columns, distance_m, left_geometry, right_geometry, left_where, right_where
) %}
    {%- if right_columns is none and how != 'anti' -%}
        {{ exceptions.raise_compiler_error(
            'spatial_join: name right_columns where a side is the rows of a unit test or an ephemeral model'
        ) }}
    {%- endif -%}
    {%- set joins = {'inner': 'inner join', 'left': 'left join', 'anti': 'left anti join'} -%}
    {%- if how not in joins -%}
        {{ exceptions.raise_compiler_error('spatial_join: how must be one of inner, left, anti, got ' ~ how) }}
    {%- endif -%}
    {%- set ours, theirs = 'left_side.' ~ left_geometry, 'right_side.' ~ right_geometry -%}
    {%- set shapes = 'st_geomfromwkb(' ~ ours ~ '), st_geomfromwkb(' ~ theirs ~ ')' -%}
    (
        select
            {{ _side_columns('left_side', left_columns) }}
            {%- if how != 'anti' %}, {{ _side_columns('right_side', right_columns) }}{% endif %}
        from ({{ _side_sql(left, left_where) }}) as left_side
        {{ joins[how] }} ({{ _side_sql(right, right_where) }}) as right_side
            on {% if predicate == 'dwithin' -%} geodesic_distance_m({{ ours }}, {{ theirs }}) <= {{ distance_m }}
            {%- else -%} st_{{ predicate }}({{ shapes }}) {%- endif %}
    )
{% endmacro %}


{% macro _side_columns(side, columns) -%}
    {%- if columns is none -%} {{ side }}.*
    {%- elif columns is mapping -%}
        {%- for name, alias in columns.items() -%} {{ side }}.{{ name }} as {{ alias }}{{ ', ' if not loop.last }} {%- endfor -%}
    {%- else -%}
        {%- for name in columns -%} {{ side }}.{{ name }}{{ ', ' if not loop.last }} {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
