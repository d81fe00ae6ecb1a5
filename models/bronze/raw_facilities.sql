select * from {{ landed_rows('landing', 'facilities') }}
