{% macro bbox(geom) -%}
    named_struct(
        'xmin', st_xmin({{ geom }}), 'ymin', st_ymin({{ geom }}),
        'xmax', st_xmax({{ geom }}), 'ymax', st_ymax({{ geom }})
    )
{%- endmacro %}
