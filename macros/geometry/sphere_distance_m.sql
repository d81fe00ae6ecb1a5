{#
  Great-circle distance in metres between two places in degrees: plain arithmetic, many times cheaper than a geometry
  function, and within 0.57 % of the distance on the spheroid. For screening, not for answers.
#}
{% macro sphere_distance_m(lon_a, lat_a, lon_b, lat_b) -%}
    {%- set haversine -%}
        power(sin(radians({{ lat_a }} - {{ lat_b }}) / 2), 2)
        + cos(radians({{ lat_a }})) * cos(radians({{ lat_b }}))
        * power(sin(radians({{ lon_a }} - {{ lon_b }}) / 2), 2)
    {%- endset -%}
    -- rounding may lift it over 1 at antipodes; not `least`, which would turn null into a distance
    2 * 6371008.8 * asin(sqrt(({{ haversine }}) / greatest({{ haversine }}, 1.0)))
{%- endmacro %}
