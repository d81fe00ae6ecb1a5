{% macro landed_columns() -%}
    _metadata.file_path as _source_file,
    _metadata.file_modification_time as _source_mtime,
    timestamp '{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S.%f") }}' as _ingested_at,
    '{{ invocation_id }}' as _batch_id,
    -- unique for ever: the number is unique in its statement, the table and the batch name the statement
    concat('{{ invocation_id }}-{{ this.identifier }}-', monotonically_increasing_id()) as _row_id
{%- endmacro %}
