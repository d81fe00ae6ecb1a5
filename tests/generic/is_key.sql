{#- Not null and unique, in one pass: what `not_null` and `unique` ask in two. -#}
{% test is_key(model, column_name) %}
select
    {{ column_name }} as key_value,
    count(*) as row_count
from {{ model }}
group by {{ column_name }}
having {{ column_name }} is null or count(*) > 1
{% endtest %}
