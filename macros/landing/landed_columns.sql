{% macro landed_columns() -%}
    _corrupt_record,
    _file_problem,
    _rescued,
    _source_fingerprint,
    {{ provenance() }}
{%- endmacro %}
