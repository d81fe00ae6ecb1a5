{%- set entities = {
    'parcels': 'parcel_id', 'telemetry': 'event_id', 'zones': 'zone_id', 'facilities': 'facility_id'
} %}

with

{% for entity, key in entities.items() -%}
{{ entity }} as (

    select
        '{{ entity }}' as entity,
        {{ key }} as entity_key,
        failed_expectations as reasons,
        landed_value,
        _source_file,
        _ingested_at,
        _batch_id,
        _row_id

    from {{ ref(entity ~ '_checked') }}

    where size(failed_expectations) > 0

){{ ',' if not loop.last }}

{% endfor -%}
{% for entity in entities -%}
select * from {{ entity }}
{{ 'union all' if not loop.last }}
{% endfor %}
