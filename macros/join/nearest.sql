{#
  The k nearest rows on the right of every row on the left, in metres on the spheroid, as something to select from. Every worker
  holds the right side; an index decides only which pairs need not be measured.
#}
{% macro nearest(
    left, right, k=1, max_distance_m=none, left_columns=none, right_columns=none,
    left_geometry='geometry', right_geometry='geometry', right_key=none
) %}
    {%- if k is not integer or k < 1 -%}
        {{ exceptions.raise_compiler_error('nearest: k must be a whole number, 1 or more, got ' ~ k) }}
    {%- endif -%}
    {%- do _check_max_distance('nearest', max_distance_m) -%}
    {# The rows of a unit test, or an ephemeral model, are part of the statement: only SQL can see them. #}
    {%- if left.is_cte or right.is_cte -%}
        {{ return(_nearest_sql(
            left, right, k, max_distance_m, left_columns, right_columns, left_geometry, right_geometry, right_key
        )) }}
    {%- endif -%}
    {%- set view = _view_name('nearest') -%}
    {%- if _runs_statements() -%}
        {%- do adapter.call_python(
            'plan_nearest', left=_side_sql(left), right=_side_sql(right), view=view, k=k, max_distance_m=max_distance_m,
            left_columns=left_columns, right_columns=right_columns, left_geometry=left_geometry,
            right_geometry=right_geometry, right_key=right_key
        ) -%}
    {%- endif -%}
    {{ return(view) }}
{% endmacro %}


{# Every pair measured: for a handful of rows that no plan can read apart from the statement. #}
{% macro _nearest_sql(
    left, right, k, max_distance_m, left_columns, right_columns, left_geometry, right_geometry, right_key
) %}
    {%- if right_columns is none or right_key is none -%}
        {{ exceptions.raise_compiler_error(
            'nearest: name right_columns and right_key where a side is the rows of a unit test or an ephemeral model'
        ) }}
    {%- endif -%}
    (
        select
            {{ _side_columns('left_side', left_columns) }},
            {{ _side_columns('right_side', right_columns) }},
            distance_m,
            distance_rank
        from (
            select
                *,
                row_number() over (partition by left_row order by distance_m, right_side.{{ right_key }}) as distance_rank
            from (
                select
                    *,
                    geodesic_distance_m(left_side.{{ left_geometry }}, right_side.{{ right_geometry }}) as distance_m
                from (select struct(*) as left_side, monotonically_increasing_id() as left_row from {{ left }})
                cross join (select struct(*) as right_side from {{ right }})
            )
            where distance_m <= {{ 'double(\'infinity\')' if max_distance_m is none else max_distance_m }}
        )
        where distance_rank <= {{ k }}
    )
{% endmacro %}


{% macro _check_max_distance(macro, max_distance_m) %}
    {%- if max_distance_m is not none and (max_distance_m is not number or max_distance_m < 0) -%}
        {{ exceptions.raise_compiler_error(
            macro ~ ': max_distance_m must be none or a number of metres, 0 or more, got ' ~ max_distance_m
        ) }}
    {%- endif -%}
{% endmacro %}
