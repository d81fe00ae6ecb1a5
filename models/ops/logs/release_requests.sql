{{ config(tblproperties={'delta.enableChangeDataFeed': 'true'}) }}

-- filled by `dbt run-operation release_quarantine`, never by a run
{% do adapter.note_change('requests', false) %}

select
    cast(null as string) as entity,
    cast(null as string) as reason,
    cast(null as timestamp) as requested_at,
    cast(null as string) as _batch_id,
    cast(null as string) as _row_id

where false
