{% macro _check_h3_resolution(macro_name, resolution) %}
    {%- if resolution is not integer or resolution < 0 or resolution > 15 -%}
        {{ exceptions.raise_compiler_error(macro_name ~ ': resolution must be 0-15, got ' ~ resolution) }}
    {%- endif -%}
{% endmacro %}
