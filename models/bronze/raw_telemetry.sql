select * from {{ landed_rows('landing', 'telemetry') }}
