{# From two disks: Sedona's own hollow ring fails near pentagons. #}
{% macro h3_ring(cell, rings=1) -%}
    {%- do _check_h3_rings('h3_ring', rings) -%}
    {%- if rings == 0 -%}
    {{ h3_disk(cell, 0) }}
    {%- else -%}
    array_except({{ h3_disk(cell, rings) }}, {{ h3_disk(cell, rings - 1) }})
    {%- endif -%}
{%- endmacro %}
