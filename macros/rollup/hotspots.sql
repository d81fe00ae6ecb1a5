{#
  Getis-Ord Gi*: by how many standard deviations the sum over a cell and its neighbours is off from what it would be if the values
  were dealt out at random. Each cell gives its value to the disk around it, so one grouping finds all sums.
  Cells of several resolutions are each compared with their own.
#}
{% macro hotspots(relation, value, cell='h3', rings=1) %}
    {%- do _check_h3_rings('hotspots', rings) -%}
    (
        with

        _cells as (

            select
                {{ cell }} as h3,
                {{ h3_resolution(cell) }} as resolution,
                sum(cast({{ value }} as double)) as value

            from {{ relation }}

            where {{ h3_is_valid(cell) }} and {{ value }} is not null

            group by {{ cell }}

        ),

        _all as (

            select
                resolution,
                count(*) as cells,
                avg(value) as mean,
                stddev_pop(value) as deviation

            from _cells

            group by resolution

        ),

        _given as (

            select
                explode({{ h3_disk('h3', rings) }}) as h3,
                h3 as giver,
                resolution,
                value

            from _cells

        ),

        _sums as (

            select
                h3,
                resolution,
                -- null where the study area has no such cell
                max(case when giver = h3 then value end) as value,
                count(*) as neighbours,
                sum(value) as total

            from _given

            group by h3, resolution

        ),

        _scores as (

            select
                _sums.h3,
                _sums.resolution,
                _sums.value,
                _sums.neighbours as cell_count,
                (_sums.total - _all.mean * _sums.neighbours) / nullif(
                    _all.deviation * sqrt(
                        (_all.cells * _sums.neighbours - _sums.neighbours * _sums.neighbours) / nullif(_all.cells - 1, 0)
                    ), 0
                ) as z_score

            from _sums

            inner join _all
                on _sums.resolution = _all.resolution

            where _sums.value is not null

        )

        select
            h3,
            resolution,
            value,
            cell_count,
            z_score,
            normal_p_value(z_score) as p_value

        from _scores
    )
{% endmacro %}
