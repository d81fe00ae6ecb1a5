{#
  Bits 52 to 55 of a cell are its resolution; below them each resolution from 1 to 15 has three bits for its digit, unused
  ones all set. A parent is the cell with another resolution and the finer digits set.
#}
{% macro h3_parent(cell, resolution) -%}
    {%- do _check_h3_resolution('h3_parent', resolution) -%}
    {%- set other_bits = -1 - 15 * 2 ** 52 -%}
    {%- set new_bits = resolution * 2 ** 52 + 8 ** (15 - resolution) - 1 -%}
    ({{ cell }} & {{ other_bits }} | {{ new_bits }})
{%- endmacro %}
