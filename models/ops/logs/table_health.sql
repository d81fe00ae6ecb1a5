-- filled by `geostrata audit --record`, never by a run
{% do adapter.note_change('audits', false) %}

select
    cast(null as string) as relation_name,
    cast(null as string) as table_path,
    cast(null as bigint) as table_version,
    cast(null as bigint) as versions_kept,
    cast(null as bigint) as files,
    cast(null as bigint) as total_bytes,
    cast(null as bigint) as total_rows,
    cast(null as bigint) as target_file_bytes,
    cast(null as double) as mean_file_bytes,
    cast(null as bigint) as small_files,
    cast(null as bigint) as tombstone_files,
    cast(null as bigint) as tombstone_bytes,
    cast(null as double) as statistics_coverage,
    cast(null as double) as overlap_depth,
    cast(null as double) as window_files,
    cast(null as double) as window_files_ideal,
    cast(null as double) as window_bytes,
    cast(null as double) as window_bytes_ideal,
    cast(null as double) as read_amplification,
    cast(null as double) as clustered_share,
    cast(null as double) as commit_latency_s,
    cast(null as double) as commit_latency_max_s,
    cast(null as bigint) as slow_commits,
    cast(null as timestamp) as recorded_at

where false
