{% test is_topologically_valid(model, key, geometry='geometry') %}
with

judged as (

    select
        {{ key if key is string else key | join(',\n        ') }},
        invalid_reason({{ geometry }}) as reason

    from {{ model }}

)

select *
from judged
where reason is not null
{% endtest %}
