{% macro h3_disk(cell, rings=1) -%}
    {%- do _check_h3_rings('h3_disk', rings) -%}
    case when {{ h3_is_valid(cell) }} then st_h3kring({{ cell }}, {{ rings }}, false) end
{%- endmacro %}
