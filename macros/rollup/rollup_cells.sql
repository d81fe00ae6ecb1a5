{#
  Read and aggregated once, at the finest resolution; the coarser ones come from those rows. A distinct count is no sum of distinct
  counts, so its values stay apart until the end.
#}
{% macro rollup_cells(relation, resolutions, aggregates, cell='h3', by=[]) %}
    {%- if resolutions is string or resolutions is not sequence or not resolutions -%}
        {{ exceptions.raise_compiler_error('rollup_cells: resolutions must be a list such as [7, 8, 9], got ' ~ resolutions) }}
    {%- endif -%}
    {%- for resolution in resolutions -%}
        {%- do _check_h3_resolution('rollup_cells', resolution) -%}
    {%- endfor -%}
    {%- if by is string or by is not sequence -%}
        {{ exceptions.raise_compiler_error('rollup_cells: by must be a list of columns, got ' ~ by) }}
    {%- endif -%}
    {%- set parts = _rollup_parts(aggregates) -%}
    (
        select
            level.h3,
            level.resolution,
            {%- for column in by %}
            {{ column }},
            {%- endfor %}
            {%- for part in parts %}
            {{ part.last }} as {{ part.name }}{{ ',' if not loop.last }}
            {%- endfor %}

        from (

            select
                finest.*,
                explode(array(
                    {%- for resolution in resolutions | unique %}
                    struct(
                        {{ h3_parent('_cell', resolution) }} as h3,
                        {{ resolution }} as resolution
                    ){{ ',' if not loop.last }}
                    {%- endfor %}
                )) as level

            from (

                select
                    -- a cell that is coarser already counts where it can
                    coalesce({{ h3_parent(cell, resolutions | max) }}, {{ cell }}) as _cell,
                    {%- for column in by %}
                    {{ column }},
                    {%- endfor %}
                    {%- for part in parts %}
                    {{ part.first }} as _{{ part.name }}{{ ',' if not loop.last }}
                    {%- endfor %}

                from {{ relation }}

                group by
                    coalesce({{ h3_parent(cell, resolutions | max) }}, {{ cell }})
                    {%- for key in by + parts | selectattr('is_distinct') | map(attribute='first') | list %},
                    {{ key }}
                    {%- endfor %}

            ) as finest

        ) as levels

        group by
            level.h3,
            level.resolution
            {%- for column in by %},
            {{ column }}
            {%- endfor %}
    )
{% endmacro %}


{# Each aggregate as its name, what is computed at the finest resolution, and what makes the answer of that. #}
{% macro _rollup_parts(aggregates) %}
    {%- if aggregates is not mapping or not aggregates -%}
        {{ exceptions.raise_compiler_error(
            "rollup_cells: aggregates must map names to SQL such as {'event_count': 'count(*)'}, got " ~ aggregates
        ) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- for name, sql in aggregates.items() -%}
        {%- set found = modules.re.fullmatch('(?is)\\s*(sum|count|min|max)\\s*[(]\\s*(distinct\\s)?(.*)[)]\\s*', sql) -%}
        {%- set parts_of_it = _parts_of(found.group(3)) if found else none -%}
        {%- set function = found.group(1) | lower if found else none -%}
        {%- set is_distinct = found and found.group(2) and function in ['sum', 'count'] -%}
        {%- if parts_of_it is none or is_distinct and (function == 'sum' or parts_of_it > 1) -%}
            {{ exceptions.raise_compiler_error(
                'rollup_cells: ' ~ name ~ ' must be sum, count, min or max of an expression, or count(distinct one expression), got ' ~ sql
            ) }}
        {%- endif -%}
        {%- if is_distinct -%}
            {%- do parts.append({'name': name, 'is_distinct': true, 'first': found.group(3), 'last': 'count(distinct _' ~ name ~ ')'}) -%}
        {%- else -%}
            {%- set last = ('sum' if function == 'count' else function) ~ '(_' ~ name ~ ')' -%}
            {%- do parts.append({'name': name, 'is_distinct': false, 'first': sql, 'last': last}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(parts) }}
{% endmacro %}


{# Whether parentheses in it are all closed, each after it was opened; and how many parts commas outside of them make. #}
{% macro _parts_of(sql) %}
    {%- set read = namespace(depth=0, parts=1, is_closed=true) -%}
    {%- for sign in sql if sign in '(,)' -%}
        {%- set read.depth = read.depth + {'(': 1, ',': 0, ')': -1}[sign] -%}
        {%- set read.parts = read.parts + (1 if sign == ',' and read.depth == 0 else 0) -%}
        {%- set read.is_closed = read.is_closed and read.depth >= 0 -%}
    {%- endfor -%}
    {{ return(read.parts if read.is_closed and read.depth == 0 else none) }}
{% endmacro %}
