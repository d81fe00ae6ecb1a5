select * from {{ landed_rows('landing', 'parcels_geoparquet') }}
