with

{% for entity in var('entities') -%}
{% set facts = entity_facts(entity) -%}
{{ entity }} as (

    select
        '{{ entity }}' as entity,
        judged.{{ facts.key }} as entity_key,
        judged.failed_expectations as reasons,
        judged.explanation,
        judged.landed_value,
        judged._source_file,
        judged._source_position,
        judged._ingested_at,
        judged._batch_id,
        judged._row_id

    from {{ ref(entity ~ '_checked') }} as judged

    {{ still_current(ref(entity ~ '_checked'), facts) }}

    where size(judged.failed_expectations) > 0

){{ ',' if not loop.last }}

{% endfor -%}
{% for entity in var('entities') -%}
select * from {{ entity }}
{{ 'union all' if not loop.last }}
{% endfor %}
