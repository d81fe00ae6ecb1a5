{#
  The rows of a bronze model that a checked model must judge: those that are new, and those that were asked out of quarantine
  (`release_quarantine`), which take the place of their old verdict.
#}
{% macro rows_to_check(raw) %}
    {%- set fresh = new_rows(raw) -%}
    {%- if execute and not raw.is_cte and is_incremental() -%}
        {# `forget` empties a landed row and its verdict: it is not new. Its mark is that of geostrata/history/layers.py. #}
        {%- set fresh = '(select * from ' ~ fresh ~ ' where not coalesce(_corrupt_record rlike '
            ~ "'^forgotten by request [0-9a-f-]{36}$', false))" -%}
    {%- endif -%}
    {%- set requests = ref('release_requests') -%}
    {# The end of the run writes down how long the verdict took: the table must be there by then. #}
    {%- do ref('check_runs') -%}
    {%- if not execute or requests.is_cte or not has_changed(requests) or not is_incremental() -%}
        {{ return(fresh) }}
    {%- endif -%}
    {%- do adapter.set_incremental_strategy('merge') -%}
    (
        select * from {{ fresh }}
        union all
        select again.* from {{ raw }} as again
        left semi join {{ changed_values(requests, '_row_id', '_row_id') }} as asked
            on again._row_id = asked._row_id
    )
{% endmacro %}
