{# A struct of what is compared. Spark can't compare maps: their text stands for them. #}
{% macro _content_sql(given, compared, types, geometry) -%}
    named_struct(
        {%- for column in compared %}
        '{{ column }}', {{ 'to_json(' ~ given[column] ~ ')' if 'map<' in types[column] else given[column] }},
        {%- endfor %}
        'geometry', {{ given[geometry] if geometry is not none else 'cast(null as binary)' }}
    )
{%- endmacro %}


{#
  Of rows with `before` and `after` (as `_content_sql` makes them, null where there was nothing) those that differ, with
  the kind of their difference. `carried` are columns that stay as they are. Shapes that
  differ by less than the tolerance are reshaped if `is_exact`, else the same.
#}
{% macro _classified_sql(rows, carried, compared, geometry, tolerance, is_exact=false) -%}
    (
        select
            {%- for column in carried %}
            `{{ column }}`,
            {%- endfor %}
            kind,
            case
                when kind in ('moved', 'reshaped') then array_append(changed_attributes, '{{ geometry or 'geometry' }}')
                when kind = 'attribute changed' then changed_attributes
                else cast(array() as array<string>)
            end as changed_columns,
            {{ _attributes_sql('before', compared) }} as attributes_before,
            {{ _attributes_sql('after', compared) }} as attributes_after,
            before.geometry as geometry_before,
            after.geometry as geometry_after,
            coalesce(after.geometry, before.geometry) as geometry
        from (
            select
                *,
                case
                    when before is null then 'added'
                    when after is null then 'removed'
                    when shape = 'nudged' and {{ is_exact }} then 'reshaped'
                    when shape in ('moved', 'reshaped') then shape
                    when size(changed_attributes) > 0 then 'attribute changed'
                end as kind
            from (
                select
                    *,
                    -- what was added or removed need not be handed to Python
                    shape_change(
                        case when after is not null then before.geometry end,
                        case when before is not null then after.geometry end,
                        cast({{ tolerance }} as double)
                    ) as shape,
                    filter(
                        array(
                            cast(null as string)
                            {%- for column in compared %},
                            case when not (before.`{{ column }}` <=> after.`{{ column }}`) then '{{ column }}' end
                            {%- endfor %}
                        ),
                        name -> name is not null
                    ) as changed_attributes
                from {{ rows }}
                -- most rows are the same to the byte: they need no look at their shapes
                where not (before <=> after)
            )
        )
        where kind is not null
    )
{%- endmacro %}


{% macro _attributes_sql(side, compared) -%}
    case when {{ side }} is not null then {% if compared -%}
        to_json(named_struct({% for column in compared %}'{{ column }}', {{ side }}.`{{ column }}`{{ ', ' if not loop.last }}{% endfor %}))
    {%- else -%} '{}' {%- endif %} end
{%- endmacro %}
