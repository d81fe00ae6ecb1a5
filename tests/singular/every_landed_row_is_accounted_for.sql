-- Promise 1: every landed row is in exactly one place. The key is tested here too: the ledger is costly to compute twice.
with

ledger as (

    select
        *,
        count(*) over (partition by entity) as rows_of_entity

    from {{ ref('row_ledger') }}

)

select *

from ledger

where
    missing > 0
    or counted_twice > 0
    or landed <> accepted + quarantined + superseded
    or rows_of_entity > 1
