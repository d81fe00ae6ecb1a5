{%- set entities = var('entities') %}

with

landed as (

    {%- for entity in entities %}
    {%- set outer = loop %}
    {%- for raw in entity_facts(entity).landed %}
    select
        '{{ entity }}' as entity,
        'landed' as place,
        _row_id
    from {{ ref(raw) }}
    {{ 'union all' if not (loop.last and outer.last) }}
    {%- endfor %}
    {%- endfor %}

),

accepted as (

    {%- for entity in entities %}
    select
        '{{ entity }}' as entity,
        'accepted' as place,
        _row_id
    from {{ ref(entity) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

quarantined as (

    select
        entity,
        'quarantined' as place,
        _row_id

    from {{ ref('quarantine') }}

),

-- judged from the rows themselves, not as what is left over: something newer has taken the place of the row's file, a newer
-- version of the key exists, or the key was deleted
{% for entity in entities -%}
{% set facts = entity_facts(entity) -%}
{{ entity }}_dated as (

    select
        *,
        size(failed_expectations) = 0 as is_valid,
        {{ is_outdated(facts, ref(entity ~ '_checked')) }} as is_stale

    from {{ ref(entity ~ '_checked') }}

),

{% endfor -%}
ranked as (

    {%- for entity in entities %}
    {%- set facts = entity_facts(entity) %}
    select
        '{{ entity }}' as entity,
        is_stale,
        is_valid,
        is_deleted,
        row_number() over (
            partition by {{ facts.key }}, is_stale, is_valid
            order by {{ facts.newest }}, _source_file desc, _source_row desc
        ) as version_rank,
        _row_id
    from {{ entity }}_dated
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

superseded as (

    select
        entity,
        'superseded' as place,
        _row_id

    from ranked

    where is_stale or is_valid and (version_rank > 1 or is_deleted)

),

places as (

    select * from landed
    union all
    select * from accepted
    union all
    select * from quarantined
    union all
    select * from superseded

),

rows_found as (

    select
        entity,
        _row_id,
        count_if(place = 'landed') as landed_count,
        count_if(place = 'accepted') as accepted_count,
        count_if(place = 'quarantined') as quarantined_count,
        count_if(place = 'superseded') as superseded_count

    from places

    group by entity, _row_id

)

select
    entity,
    sum(landed_count) as landed,
    sum(accepted_count) as accepted,
    sum(quarantined_count) as quarantined,
    sum(superseded_count) as superseded,
    count_if(accepted_count + quarantined_count + superseded_count = 0) as missing,
    -- in two places, twice in one, or in one without ever having landed
    count_if(
        landed_count <> 1 or accepted_count + quarantined_count + superseded_count > 1
    ) as counted_twice

from rows_found

group by entity
