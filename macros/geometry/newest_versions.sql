{#
  The newest valid version of each key of an entity (var `entities`). On an incremental run only of keys that a file with new
  rows touches, looked up in the whole history, so that the order of arrival never matters; a key that is gone then comes
  without `_row_id`, which tells the merge to take it out.
#}
{% macro newest_versions(entity) %}
    {%- set facts = entity_facts(entity) -%}
    {%- set checked = ref(entity ~ '_checked') -%}
    {%- set key = facts.key -%}
    {%- if not is_incremental() -%}
        {%- do new_rows(checked) -%}
    {%- endif -%}
    select
        ranked.* except (version_rank, stands, _row_id),
        case when ranked.stands and not ranked.is_deleted then ranked._row_id end as _row_id

    from (

        select
            *,
            row_number() over (
                partition by {{ key }}
                order by stands desc, {{ facts.newest }}, _source_file desc, _source_row desc
            ) as version_rank

        from (

            select
                versions.*,
                size(failed_expectations) = 0 and coalesce(
                    _delivery = current_delivery
                    {%- if facts.delivery == 'snapshot' %} and {{ facts.snapshot_by }} = newest_snapshot {%- endif %}, false
                ) as stands

            from {{ checked }} as versions

            -- a file that was delivered again takes the place of what it was before
            left join {{ _current_files(checked) }} as current_files
                on _source_file = current_file

            {%- if facts.delivery == 'snapshot' %}

            cross join {{ _newest_snapshot(checked, facts) }} as snapshots
            {%- endif %}

        ) as dated

        {%- if is_incremental() and facts.delivery != 'snapshot' %}

        left semi join {{ _touched_keys(checked, key) }} as touched
            on {{ key }} = touched_key
        {%- elif is_incremental() %}
        {%- do changed_values(checked, key, key) %}
        {%- endif %}

    ) as ranked

    where ranked.version_rank = 1
    {%- if not is_incremental() %} and ranked.stands and not ranked.is_deleted {%- endif %}
{% endmacro %}


{# The last delivery of each file, in the order in which they were seen. One that was refused takes nobody's place. #}
{% macro _current_files(checked) -%}
    (
        select
            _source_file as current_file,
            max(_delivery) as current_delivery
        from {{ checked }}
        where not array_contains(failed_expectations, 'file_accepted')
        group by _source_file
    )
{%- endmacro %}


{# Of the files as they are now: a snapshot that was itself replaced counts no more. #}
{% macro _newest_snapshot(checked, facts) -%}
    (
        select max({{ facts.snapshot_by }}) as newest_snapshot
        from {{ checked }}
        inner join {{ _current_files(checked) }} as accepted
            on _source_file = current_file and _delivery = current_delivery
    )
{%- endmacro %}


{#
  Keys of all rows, old and new, of the files that have new rows: a version of a file that lacks a key touches it as well. And keys that
  changed rows had before: of a row that `forget` has emptied, the next older version counts.
#}
{% macro _touched_keys(checked, key) -%}
    (
        select {{ key }} as touched_key
        from {{ checked }}
        left semi join {{ changed_values(checked, '_source_file', 'touched_file') }} as files
            on _source_file = touched_file
        union all
        select touched_key from {{ changed_values(checked, key, 'touched_key') }}
    )
{%- endmacro %}
