{#
  The newest valid version of each key. On an incremental run only of keys that a new row touches, looked up in the whole
  history, so that the order of arrival never matters; a deleted key then comes without geometry, which tells the merge to
  take it out.
#}
{% macro newest_versions(checked, key) %}
    select
        ranked.* except (version_rank, geometry),
        case when not ranked.is_deleted then ranked.geometry end as geometry

    from (

        select
            versions.*,
            row_number() over (
                partition by versions.{{ key }}
                order by versions.updated_at desc, versions._ingested_at asc, versions._row_id asc
            ) as version_rank

        from {{ checked }} as versions

        {%- if is_incremental() %}

        left semi join {{ changed_values(checked, key, key) }} as touched
            on versions.{{ key }} = touched.{{ key }}

        {%- else %}
        {%- do new_rows(checked) %}
        {%- endif %}

        where size(versions.failed_expectations) = 0

    ) as ranked

    where ranked.version_rank = 1
    {%- if not is_incremental() %} and not ranked.is_deleted {%- endif %}
{% endmacro %}
