-- events are added, hardly ever changed, and would be kept twice
{% set unaudited = ['telemetry'] -%}
{% set audited = var('entities') | reject('in', unaudited) | list -%}

with

{% for entity in audited -%}
{{ entity }} as (

    {{ audited_changes(entity) }}

){{ ',' if not loop.last }}

{% endfor -%}
{% for entity in audited -%}
select * from {{ entity }}
{{ 'union all' if not loop.last }}
{% endfor %}
