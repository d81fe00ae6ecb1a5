{% test bbox_matches_geometry(model) %}
    with

    parsed as (

        select
            *,
            st_geomfromwkb(geometry) as geom

        from {{ model }}

    )

    select *
    from parsed
    where not (bbox <=> {{ bbox('geom') }})
{% endtest %}
