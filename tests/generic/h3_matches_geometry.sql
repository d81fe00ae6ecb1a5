{% test h3_matches_geometry(model, resolution=var('h3_resolution')) %}
    with

    parsed as (

        select
            *,
            -- of a point this is the point itself
            st_pointonsurface(st_geomfromwkb(geometry)) as place

        from {{ model }}

    )

    select *
    from parsed
    where not (h3 <=> {{ h3_cell('place', resolution) }})
{% endtest %}
