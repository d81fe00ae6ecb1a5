{#
  The newest valid version of each key of an entity (var `entities`). On an incremental run only of keys that a file with new
  rows touches, looked up in the whole history, so that the order of arrival never matters; a key that is gone then comes
  without geometry, which tells the merge to take it out.
#}
{% macro newest_versions(entity) %}
    {%- set facts = entity_facts(entity) -%}
    {%- set checked = ref(entity ~ '_checked') -%}
    {%- set key = facts.key -%}
    {%- if not is_incremental() -%}
        {%- do new_rows(checked) -%}
    {%- endif -%}
    select
        ranked.* except (version_rank, is_current, geometry),
        case when ranked.is_current and not ranked.is_deleted then ranked.geometry end as geometry

    from (

        select
            *,
            row_number() over (
                partition by {{ key }}
                order by is_current desc, {{ facts.newest }}, _source_file desc, _source_row desc
            ) as version_rank

        from (

            select
                versions.*,
                _source_mtime = current_mtime
                {%- if facts.delivery == 'snapshot' %} and {{ facts.snapshot_by }} = newest_snapshot {%- endif %} as is_current

            from {{ checked }} as versions

            -- a file that was delivered again takes the place of what it was before
            inner join {{ _current_files(checked) }} as current_files
                on _source_file = current_file

            {%- if facts.delivery == 'snapshot' %}

            cross join {{ _newest_snapshot(checked, facts) }} as snapshots
            {%- endif %}

            where size(failed_expectations) = 0

        ) as dated

        {%- if is_incremental() and facts.delivery != 'snapshot' %}

        left semi join {{ _touched_keys(checked, key) }} as touched
            on {{ key }} = touched_key
        {%- elif is_incremental() %}
        {%- do changed_values(checked, key, key) %}
        {%- endif %}

    ) as ranked

    where ranked.version_rank = 1
    {%- if not is_incremental() %} and ranked.is_current and not ranked.is_deleted {%- endif %}
{% endmacro %}


{# The time of the newest version of each file. One that was refused takes nobody's place. #}
{% macro _current_files(checked) -%}
    (
        select
            _source_file as current_file,
            max(_source_mtime) as current_mtime
        from {{ checked }}
        where not array_contains(failed_expectations, 'file_accepted')
        group by _source_file
    )
{%- endmacro %}


{% macro _newest_snapshot(checked, facts) -%}
    (
        select max({{ facts.snapshot_by }}) as newest_snapshot
        from {{ checked }}
        where not array_contains(failed_expectations, 'file_accepted')
    )
{%- endmacro %}


{# Keys of all rows, old and new, of the files that have new rows: a version of a file that lacks a key touches it as well. #}
{% macro _touched_keys(checked, key) -%}
    (
        select {{ key }} as touched_key
        from {{ checked }}
        left semi join {{ changed_values(checked, '_source_file', 'touched_file') }} as files
            on _source_file = touched_file
    )
{%- endmacro %}
