with

{% for entity in var('entities') -%}
{{ entity }}_expected as (

    {{ expectations_of(entity) }}

),

{{ entity }} as (

    select
        '{{ entity }}' as entity,
        '{{ entity }}_checked' as model_name,
        expected.expectation,
        expected.on_violation,
        count(*) as seen_rows,
        count_if(
            array_contains(judged.failed_expectations, expected.expectation)
            -- a row that is refused is not warned of as well
            or size(judged.failed_expectations) = 0
            and array_contains(judged.warned_expectations, expected.expectation)
        ) as failed_rows,
        judged._batch_id

    from {{ ref(entity ~ '_checked') }} as judged

    cross join {{ entity }}_expected as expected

    group by expected.expectation, expected.on_violation, judged._batch_id

),

{% endfor -%}
counted as (

    {%- for entity in var('entities') %}
    select * from {{ entity }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

check_runs as (

    select
        model_name,
        _batch_id,
        max(seconds) as seconds

    from {{ ref('check_runs') }}

    group by model_name, _batch_id

)

select
    counted.entity,
    counted.model_name,
    counted.expectation,
    counted.on_violation,
    counted.seen_rows,
    counted.failed_rows,
    check_runs.seconds,
    counted._batch_id

from counted

left join check_runs
    on counted.model_name = check_runs.model_name and counted._batch_id = check_runs._batch_id
