-- filled by `geostrata maintain apply`, never by a run
{% do adapter.note_change('maintenance', false) %}

select
    cast(null as string) as run_id,
    cast(null as string) as relation_name,
    cast(null as string) as table_path,
    cast(null as string) as action_kind,
    cast(null as string) as sql_text,
    cast(null as string) as reason,
    cast(null as string) as override_reason,
    cast(null as string) as status,
    cast(null as string) as error,
    cast(null as bigint) as tries,
    cast(null as bigint) as version_before,
    cast(null as bigint) as version_after,
    cast(null as bigint) as files_before,
    cast(null as bigint) as files_after,
    cast(null as bigint) as bytes_before,
    cast(null as bigint) as bytes_after,
    cast(null as bigint) as bytes_rewritten,
    cast(null as timestamp) as started_at,
    cast(null as timestamp) as ended_at

where false
