{#
  Rows of a CTE with `wkb` (readable or null) and `source_crs`, each with its geometry in the source's CRS, whether that CRS
  is known and holds the coordinates, the geometry in EPSG:4326 where both are so, and whether that lies in the extent.
#}
{% macro located(cte) %}
    select
        placed.*,
        st_xmin(placed.geometry_4326) >= extents.min_lon
        and st_ymin(placed.geometry_4326) >= extents.min_lat
        and st_xmax(placed.geometry_4326) <= extents.max_lon
        and st_ymax(placed.geometry_4326) <= extents.max_lat as is_within_extent

    from (

        select
            bounded.*,
            case
                when bounded.source_crs = 'EPSG:4326' and bounded.is_within_crs
                    then bounded.source_geometry
                -- an unknown CRS would fail the whole job: it holds no coordinates
                when bounded.is_within_crs
                    then st_transform(bounded.source_geometry, bounded.source_crs, 'EPSG:4326')
            end as geometry_4326

        from (

            select
                parsed.*,
                known.crs is not null as is_crs_known,
                case
                    when not st_isempty(parsed.source_geometry)
                        then
                            st_xmin(parsed.source_geometry) >= known.min_x
                            and st_ymin(parsed.source_geometry) >= known.min_y
                            and st_xmax(parsed.source_geometry) <= known.max_x
                            and st_ymax(parsed.source_geometry) <= known.max_y
                end as is_within_crs

            from (select *, st_geomfromwkb(wkb) as source_geometry from {{ cte }}) as parsed

            left join {{ ref('coordinate_systems') }} as known
                on parsed.source_crs = known.crs

        ) as bounded

    ) as placed

    cross join {{ ref('extents') }} as extents

    where extents.extent = '{{ var("extent", "town") }}'
{% endmacro %}
