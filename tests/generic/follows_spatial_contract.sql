{#-
  What `geometry_is_valid`, `geometry_is_within_bounds`, `bbox_matches_geometry` and `h3_matches_geometry` ask one by one,
  in one pass: each geometry is parsed once. A failing row says which of them it breaks.
-#}
{% test follows_spatial_contract(model, resolution=var('h3_resolution'), check_h3=true) %}
{%- set own_cell = h3_cell('st_pointonsurface(geom)', resolution) if check_h3 else 'h3' %}
with

parsed as (

    select
        *,
        st_geomfromwkb(geometry) as geom

    from {{ model }}

),

judged as (

    select
        * except (geom),
        array_compact(array(
            case when not coalesce(st_isvalid(geom), false) then 'geometry_is_valid' end,
            case
                when
                    not coalesce(
                        bbox.xmin >= -180 and bbox.ymin >= -90 and bbox.xmax <= 180 and bbox.ymax <= 90, false
                    )
                    then 'geometry_is_within_bounds'
            end,
            case when not (bbox <=> {{ bbox('geom') }}) then 'bbox_matches_geometry' end,
            case when not (h3 <=> {{ own_cell }}) then 'h3_matches_geometry' end
        )) as broken_rules

    from parsed

)

select *
from judged
where size(broken_rules) > 0
{% endtest %}
