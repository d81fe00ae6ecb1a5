-- Promise 1: every landed row is in exactly one place.
select *
from {{ ref('row_ledger') }}
where
    missing > 0
    or counted_twice > 0
    or landed <> accepted + quarantined + superseded
