{% macro h3_cover(geometry, resolution, mode='exact') -%}
    {%- do _check_h3_resolution('h3_cover', resolution) -%}
    {%- set modes = ['center', 'contains', 'overlaps', 'exact'] -%}
    {%- if mode not in modes -%}
        {{ exceptions.raise_compiler_error('h3_cover: mode must be one of ' ~ modes | join(', ') ~ ', got ' ~ mode) }}
    {%- endif -%}
    h3_cells_over({{ geometry }}, {{ resolution }}, '{{ mode }}')
{%- endmacro %}
