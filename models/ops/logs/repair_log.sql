-- filled by `geostrata repair`, never by a run
{% do adapter.note_change('repairs', false) %}

select
    cast(null as string) as repair_id,
    cast(null as string) as relation_name,
    cast(null as string) as table_path,
    cast(null as string) as action_kind,
    cast(null as string) as title,
    cast(null as string) as sql_text,
    cast(null as string) as reason,
    cast(null as string) as user_name,
    cast(null as string) as status,
    cast(null as string) as error,
    cast(null as string) as undo_command,
    cast(null as bigint) as rows_removed,
    cast(null as bigint) as rows_added,
    cast(null as bigint) as keys_removed,
    cast(null as bigint) as keys_added,
    cast(null as bigint) as keys_changed,
    cast(null as bigint) as version_before,
    cast(null as bigint) as version_after,
    cast(null as timestamp) as started_at,
    cast(null as timestamp) as ended_at

where false
