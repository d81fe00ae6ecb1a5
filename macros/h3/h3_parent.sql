{# A parent is the cell with another resolution and the finer digits set: see _h3_bits. #}
{% macro h3_parent(cell, resolution) -%}
    {%- do _check_h3_resolution('h3_parent', resolution) -%}
    {%- set cell = '(' ~ cell ~ ')' -%}
    {%- set other_bits = -1 - 15 * 2 ** 52 -%}
    {%- set new_bits = resolution * 2 ** 52 + 8 ** (15 - resolution) - 1 -%}
    case
        when {{ h3_is_valid(cell) }} and {{ _h3_level(cell) }} >= {{ resolution }}
            then {{ cell }} & {{ other_bits }} | {{ new_bits }}
    end
{%- endmacro %}
