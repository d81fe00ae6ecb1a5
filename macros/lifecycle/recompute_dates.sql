{#
  For gold tables with an `event_date`: the condition, on that date, of the days to compute again, which also names the rows
  that the run replaces. Days are those of new or changed rows of `relation`; all days on a first run and when one of
  `whole_if_changed` has changed.
#}
{% macro recompute_dates(relation, timestamp_column, whole_if_changed=[]) %}
    {%- if not execute -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set ns = namespace(whole=not is_incremental()) -%}
    {%- for other in whole_if_changed if has_changed(other) -%}
        {%- set ns.whole = true -%}
    {%- endfor -%}
    {%- set touched = changed_values(relation, 'date(' ~ timestamp_column ~ ')', 'event_date') -%}
    {%- set dates = [] -%}
    {%- if not ns.whole and has_changed(relation) -%}
        {%- for row in run_query('select string(event_date) from ' ~ touched ~ ' order by 1').rows if row[0] -%}
            {%- do dates.append("date '" ~ row[0] ~ "'") -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set predicate = 'true' if ns.whole else 'event_date in (' ~ dates | join(', ') ~ ')' if dates else 'false' -%}
    {%- do replace_where(predicate) -%}
    {{ return(predicate) }}
{% endmacro %}
