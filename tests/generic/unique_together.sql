{% test unique_together(model, columns) %}
    select
        {{ columns | join(',\n        ') }},
        count(*) as row_count
    from {{ model }}
    group by {{ columns | join(', ') }}
    having count(*) > 1
{% endtest %}
