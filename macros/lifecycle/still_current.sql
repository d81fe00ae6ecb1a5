{# Joins that keep the rows of `judged` that nothing newer has taken the place of: no later version of the file, no later snapshot. #}
{% macro still_current(checked, facts) -%}
    left anti join {{ _current_files(checked) }} as current_files
        on judged._source_file = current_file and judged._delivery < current_delivery
    {%- if facts.delivery == 'snapshot' %}

    left anti join {{ _newest_snapshot(checked, facts) }} as snapshots
        on {{ facts.snapshot_by }} < newest_snapshot
    {%- endif %}
{%- endmacro %}
