{#
  Pairs of rows whose shapes meet, as something to select from. The plan is chosen from the sizes of both sides, here, while the
  model is compiled; the answer is the same by every plan.
#}
{% macro spatial_join(
    left, right, predicate='intersects', how='inner', left_columns=none, right_columns=none, distance_m=none,
    left_geometry='geometry', right_geometry='geometry', left_where=none, right_where=none, plan=none, explain=false
) %}
    {# The rows of a unit test, or an ephemeral model, are part of the statement: only SQL can see them. #}
    {%- if left.is_cte or right.is_cte -%}
        {{ return(_spatial_join_sql(
            left, right, predicate, how, left_columns, right_columns, distance_m, left_geometry, right_geometry,
            left_where, right_where
        )) }}
    {%- endif -%}
    {%- set view = _view_name('spatial_join') -%}
    {%- if not _runs_statements() -%}
        {{ return(view) }}
    {%- endif -%}
    {%- set told = adapter.call_python(
        'plan_spatial_join', left=left | string, right=right | string, left_where=left_where, right_where=right_where, view=view,
        predicate=predicate, how=how, left_columns=left_columns, right_columns=right_columns, distance_m=distance_m,
        left_geometry=left_geometry, right_geometry=right_geometry, plan=plan
    ) -%}
    {%- if explain -%}
        {%- do log('spatial_join in ' ~ this.identifier ~ ': ' ~ told, info=true) -%}
    {%- endif -%}
    {{ return(view) }}
{% endmacro %}


{# A side is a relation, or a statement in brackets. #}
{% macro _side_sql(side, where=none) -%}
    select * from {{ side }} {%- if where %} where {{ where }}{% endif %}
{%- endmacro %}


{# To plan is to read: what only compiles, as `dbt compile` and `dbt docs generate` do, is spared that. #}
{% macro _runs_statements() %}
    {{ return(execute and flags.WHICH in ['run', 'build', 'test', 'show', 'snapshot', 'retry', 'run-operation']) }}
{% endmacro %}


{# Of its own for each call: a model may join more than once. #}
{% macro _view_name(purpose) -%}
    {{ purpose }}_{{ local_md5(invocation_id ~ this ~ modules.datetime.datetime.now()) }}
{%- endmacro %}
