{% macro h3_uncompact(cells, resolution) -%}
    {%- do _check_h3_resolution('h3_uncompact', resolution) -%}
    h3_uncompacted(array_compact({{ cells }}), {{ resolution }})
{%- endmacro %}
