{#
  Positions to trips, as something to select from: a device's positions in the order of time, cut where there was none for longer than `gap_s`.
  At one time the order is that of `tie`, then of the positions themselves, so that the same rows always give the same line.
#}
{% macro trips(relation, device, ts, gap_s=1800, geometry='geometry', by=none, tie=none, min_points=2) %}
    {%- if gap_s is not number or gap_s <= 0 -%}
        {{ exceptions.raise_compiler_error('trips: gap_s must be a number of seconds above 0, got ' ~ gap_s) }}
    {%- endif -%}
    {%- if min_points is not integer or min_points < 1 -%}
        {{ exceptions.raise_compiler_error('trips: min_points must be 1 or more, got ' ~ min_points) }}
    {%- endif -%}
    {%- set by = [by] if by is string else by or [] -%}
    {%- set whose = ([device] + by) | join(', ') -%}
    {%- set order = 'ts' ~ (', tie' if tie else '') -%}
    (
        select
            {{ whose }},
            trip_number,
            point_count,
            st_lengthspheroid(line) as length_m,
            (unix_micros(ended_ts) - unix_micros(started_ts)) / 1e6D as duration_s,
            st_asbinary(line) as geometry,
            started_ts,
            ended_ts

        from (

            select
                *,
                -- a device that stayed in one place has drawn no line
                case
                    when size(array_distinct(positions.position)) = 1 then st_geomfromwkb(positions[0].position)
                    else st_makeline(transform(positions, entry -> st_geomfromwkb(entry.position)))
                end as line

            from (

                select
                    {{ whose }},
                    trip_number,
                    count(*) as point_count,
                    min(ts) as started_ts,
                    max(ts) as ended_ts,
                    array_sort(collect_list(struct({{ order }}, position))) as positions

                from (

                    select
                        *,
                        count_if(is_first) over (partition by {{ whose }} order by ts asc) as trip_number

                    from {{ _positions_with_gaps(relation, device, ts, gap_s, geometry, by, tie) }}

                )

                group by {{ whose }}, trip_number

                having count(*) >= {{ min_points }}

            )

        )
    )
{% endmacro %}


{% macro _positions_with_gaps(relation, device, ts, gap_s, geometry, by, tie) -%}
    (
        select
            {{ ([device] + by) | join(', ') }},
            cast({{ ts }} as timestamp) as ts,
            {{ geometry }} as position,
            {% if tie %}{{ tie }} as tie,{% endif %}
            coalesce(
                unix_micros(cast({{ ts }} as timestamp)) - unix_micros(lag(cast({{ ts }} as timestamp)) over (
                    partition by {{ ([device] + by) | join(', ') }} order by {{ ts }} asc
                )) > {{ gap_s }} * 1000000,
                true
            ) as is_first

        from {{ relation }}

        where {{ device }} is not null and {{ ts }} is not null and not st_isempty(st_geomfromwkb({{ geometry }}))
    )
{%- endmacro %}
