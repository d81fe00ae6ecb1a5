-- filled by `dbt run-operation forget` and `retain`, never by a run
{% do adapter.note_change('requests', false) %}

select
    cast(null as string) as request_id,
    cast(null as string) as entity,
    cast(null as string) as searched_column,
    cast(null as string) as relation_name,
    cast(null as string) as reason,
    cast(null as string) as user_name,
    cast(null as bigint) as rows_forgotten,
    cast(null as timestamp) as forgotten_at

where false
