-- filled at the end of a run (`record_checks`), never by the model itself
{% do adapter.note_change('runs', false) %}

select
    cast(null as string) as model_name,
    cast(null as double) as seconds,
    cast(null as string) as _batch_id

where false
