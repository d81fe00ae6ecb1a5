{#
  A cell by its bits: 56 to 63 are always 8, 52 to 55 are its resolution, 45 to 51 its base cell, and below them each resolution
  from 1 to 15 has three bits for its digit, unused ones all set.
#}
{% macro _h3_level(cell) -%}
    cast(shiftright({{ cell }}, 52) & 15 as int)
{%- endmacro %}


{% macro _h3_base_cell(cell) -%}
    (shiftright({{ cell }}, 45) & 127)
{%- endmacro %}


{# The digits of the cell's own resolution and coarser ones, as one number. #}
{% macro _h3_digits(cell) -%}
    shiftright({{ cell }} & {{ 8 ** 15 - 1 }}, {{ _h3_unused_bits(cell) }})
{%- endmacro %}


{% macro _h3_unused_bits(cell) -%}
    (45 - 3 * {{ _h3_level(cell) }})
{%- endmacro %}


{% macro _h3_is_pentagon_base(cell) -%}
    {{ _h3_base_cell(cell) }} in (4, 14, 24, 38, 49, 58, 63, 72, 83, 97, 107, 117)
{%- endmacro %}
