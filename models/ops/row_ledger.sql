{%- set entities = {
    'parcels': {'key': 'parcel_id', 'landed': ['raw_parcels', 'raw_parcels_geojson'], 'newest': 'updated_at desc'},
    'telemetry': {'key': 'event_id', 'landed': ['raw_telemetry'], 'newest': none},
    'zones': {'key': 'zone_id', 'landed': ['raw_zones'], 'newest': 'updated_at desc'},
    'facilities': {'key': 'facility_id', 'landed': ['raw_facilities'], 'newest': 'updated_at desc'},
} %}

with

landed as (

    {%- for entity, facts in entities.items() %}
    {%- set outer = loop %}
    {%- for raw in facts.landed %}
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

-- judged from the valid rows themselves, not as what is left over: a newer version of the key exists, or the key was deleted
ranked as (

    {%- for entity, facts in entities.items() %}
    select
        '{{ entity }}' as entity,
        {{ 'is_deleted' if facts.newest else 'false' }} as is_deleted,
        row_number() over (
            partition by {{ facts.key }}
            order by {{ facts.newest ~ ', ' if facts.newest }}_ingested_at asc, _row_id asc
        ) as version_rank,
        _row_id
    from {{ ref(entity ~ '_checked') }}
    where size(failed_expectations) = 0
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

superseded as (

    select
        entity,
        'superseded' as place,
        _row_id

    from ranked

    where version_rank > 1 or is_deleted

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
