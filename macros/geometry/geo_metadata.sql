{#
  What a reader needs to rebuild a GeoDataFrame from a table, in the words of GeoParquet 1.1: encoding, CRS as PROJJSON,
  geometry types, and the column that covers each geometry with its box.
#}
{% macro geo_metadata(geometry_types) %}
    {%- set crs = {
        'type': 'GeographicCRS',
        'name': 'WGS 84 (CRS84)',
        'datum': {
            'type': 'GeodeticReferenceFrame',
            'name': 'World Geodetic System 1984',
            'ellipsoid': {'name': 'WGS 84', 'semi_major_axis': 6378137, 'inverse_flattening': 298.257223563},
        },
        'coordinate_system': {
            'subtype': 'ellipsoidal',
            'axis': [
                {'name': 'Geodetic longitude', 'abbreviation': 'Lon', 'direction': 'east', 'unit': 'degree'},
                {'name': 'Geodetic latitude', 'abbreviation': 'Lat', 'direction': 'north', 'unit': 'degree'},
            ],
        },
        'id': {'authority': 'OGC', 'code': 'CRS84'},
    } -%}
    {%- set covering = {'bbox': {
        'xmin': ['bbox', 'xmin'], 'ymin': ['bbox', 'ymin'], 'xmax': ['bbox', 'xmax'], 'ymax': ['bbox', 'ymax']
    }} -%}
    {{ return({
        'version': '1.1.0',
        'primary_column': 'geometry',
        'columns': {'geometry': {
            'encoding': 'WKB', 'crs': crs, 'geometry_types': geometry_types, 'covering': covering
        }},
    }) }}
{% endmacro %}
