{% macro _check_h3_rings(macro_name, rings) %}
    {%- if rings is not integer or rings < 0 -%}
        {{ exceptions.raise_compiler_error(macro_name ~ ': rings must be a whole number from 0 up, got ' ~ rings) }}
    {%- endif -%}
{% endmacro %}
