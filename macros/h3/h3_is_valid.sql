{#
  As the h3 package judges. A digit of 7 is no direction: with three bits a digit, `cell & cell >> 1 & cell >> 2` has the lowest bit of
  each 7 set. In a pentagon's base cell the first digit that is not 0 can't be 1, the direction that is missing there: as bits, the
  number of digits then has a length of 1, 4, 7 and so on.
#}
{% macro h3_is_valid(cell) -%}
    {%- set cell = '(' ~ cell ~ ')' -%}
    {%- set sevens = cell ~ ' & shiftright(' ~ cell ~ ', 1) & shiftright(' ~ cell ~ ', 2) & ' ~ (8 ** 15 - 1) // 7 -%}
    (
        shiftright({{ cell }}, 56) = 8
        and {{ _h3_base_cell(cell) }} < 122
        and shiftright({{ sevens }}, {{ _h3_unused_bits(cell) }}) = 0
        and {{ cell }} & (shiftleft(1L, {{ _h3_unused_bits(cell) }}) - 1) = shiftleft(1L, {{ _h3_unused_bits(cell) }}) - 1
        and not (
            {{ _h3_is_pentagon_base(cell) }}
            and {{ _h3_digits(cell) }} > 0
            and length(bin({{ _h3_digits(cell) }})) % 3 = 1
        )
    )
{%- endmacro %}
