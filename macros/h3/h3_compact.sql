{% macro h3_compact(cells) -%}
    h3_compacted(array_compact({{ cells }}))
{%- endmacro %}
