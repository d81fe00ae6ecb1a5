{% macro provenance() -%}
    _source_file,
    _source_mtime,
    _delivery,
    _source_position,
    _source_row,
    _ingested_at,
    _batch_id,
    _row_id
{%- endmacro %}
