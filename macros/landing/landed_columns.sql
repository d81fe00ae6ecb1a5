{% macro landed_columns() -%}
    _metadata.file_path as _source_file,
    _metadata.file_modification_time as _source_mtime,
    timestamp '{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S.%f") }}' as _ingested_at,
    '{{ invocation_id }}' as _batch_id,
    -- unique for ever: the id is unique in its statement, the batch among statements
    concat('{{ invocation_id }}', '-', monotonically_increasing_id()) as _row_id
{%- endmacro %}
