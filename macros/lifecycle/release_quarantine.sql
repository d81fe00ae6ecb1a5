{#
  Asks that quarantined rows be judged again, after the rule or the data was mended. Without `dry_run: false` it only shows
  which. The next build judges them, each in one commit with its new place, so that the ledger balances at every moment.
#}
{% macro release_quarantine(entity, reason, dry_run=true) %}
    {%- do entity_facts(entity) -%}
    {%- if not execute -%} {{ return('') }} {%- endif -%}
    {%- set condition = "entity = '" ~ entity ~ "' and array_contains(reasons, " ~ adapter.quote_text(reason) ~ ")" -%}
    {%- set found = run_query(
        'select _source_file, count(*) as quarantined, min(explanation) as example from ' ~ ref('quarantine')
        ~ ' where ' ~ condition ~ ' group by _source_file order by _source_file'
    ).rows -%}
    {%- set total = found | map(attribute=1) | map('int') | sum -%}
    {%- do log(entity ~ ': ' ~ total ~ ' rows are quarantined for ' ~ reason, info=true) -%}
    {%- for row in found[:20] -%}
        {%- do log('  ' ~ row[1] ~ ' of ' ~ adapter.printable(row[0]) ~ ', such as: ' ~ adapter.printable(row[2]), info=true) -%}
    {%- endfor -%}
    {%- if total == 0 -%}
        {%- set reasons = run_query(
            "select reason, count(*) from " ~ ref('quarantine') ~ " lateral view explode(reasons) as reason where entity = '"
            ~ entity ~ "' group by reason order by reason"
        ).rows -%}
        {%- do log('Reasons there are: ' ~ (reasons | map(attribute=0) | join(', ') or 'none'), info=true) -%}
    {%- elif dry_run -%}
        {%- do log(
            'Nothing was changed. To have them judged again by the rules as they are now: dbt run-operation release_quarantine --args '
            ~ "'{entity: " ~ entity ~ ", reason: " ~ reason ~ ", dry_run: false}'", info=true
        ) -%}
    {%- else -%}
        {%- do run_query(
            'insert into ' ~ ref('release_requests') ~ ' select entity, ' ~ adapter.quote_text(reason)
            ~ " as reason, current_timestamp() as requested_at, '" ~ invocation_id ~ "' as _batch_id, _row_id from "
            ~ ref('quarantine') ~ ' where ' ~ condition
        ) -%}
        {%- do log('They are judged again by the next build: dbt build --select ' ~ entity ~ '_checked+', info=true) -%}
    {%- endif -%}
{% endmacro %}
