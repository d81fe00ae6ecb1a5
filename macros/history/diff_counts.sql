{# How many keys were added, removed, moved, reshaped, or changed in their attributes, between two versions or times: one row a kind. #}
{% macro diff_counts(name, before, after, key=none, geometry='geometry', ignore=[], tolerance=1e-9) %}
    {%- set found = diff(name, before, after, key, geometry, ignore, tolerance) -%}
    {%- if not execute or ref(name).is_cte -%}
        {{ return(found) }}
    {%- endif -%}
    {{ return(_diff_counts_sql(found)) }}
{% endmacro %}


{% macro _diff_counts_sql(found) -%}
    (
        select
            kinds.kind,
            count(found.kind) as key_count
        from values ('added'), ('removed'), ('moved'), ('reshaped'), ('attribute changed') as kinds (kind)
        left join {{ found }} as found
            on kinds.kind = found.kind
        group by kinds.kind
    )
{%- endmacro %}
