with

failed as (

    select
        entity,
        'quarantine' as on_violation,
        _batch_id,
        explode(reasons) as expectation

    from {{ ref('quarantine') }}

),

warned as (

    select
        'telemetry' as entity,
        'warn' as on_violation,
        _batch_id,
        explode(warned_expectations) as expectation

    from {{ ref('telemetry_checked') }}

    -- a repeated event warned when it landed first
    where size(failed_expectations) = 0

),

violations as (

    select * from failed
    union all
    select * from warned

)

select
    entity,
    expectation,
    on_violation,
    count(*) as failed_rows,
    _batch_id

from violations

group by entity, expectation, on_violation, _batch_id
