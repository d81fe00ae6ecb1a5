{#
  The n-th child has the digits of n, written with base 7, where the cell has unused ones. Around a pentagon the direction 1 is
  missing. More than eight resolutions down an array would have no room.
#}
{% macro h3_children(cell, resolution) -%}
    {%- do _check_h3_resolution('h3_children', resolution) -%}
    {%- set cell = '(' ~ cell ~ ')' -%}
    {%- set steps = '(' ~ resolution ~ ' - ' ~ _h3_level(cell) ~ ')' -%}
    {%- set unit = 8 ** (15 - resolution) -%}
    case
        when not {{ h3_is_valid(cell) }} or {{ steps }} < 0
            then null
        when {{ steps }} > 8
            then cast(raise_error(concat(
                'h3_children: resolution must be within 8 of the cell\'s, got {{ resolution }} for ', lower(hex({{ cell }}))
            )) as array<bigint>)
        else transform(
            filter(
                transform(sequence(0L, cast(pow(7, {{ steps }}) as bigint) - 1), number -> conv(number, 10, 7)),
                digits -> not (left(digits, 1) = '1' and {{ _h3_is_pentagon_base(cell) }} and {{ _h3_digits(cell) }} = 0)
            ),
            digits -> {{ cell }} + shiftleft(cast({{ steps }} as bigint), 52) - shiftleft(1L, {{ _h3_unused_bits(cell) }})
                + {{ unit }} * (1 + cast(conv(digits, 8, 10) as bigint))
        )
    end
{%- endmacro %}
