select * from {{ landed_rows('landing', 'zones') }}
