{#
  A strategy for snapshots of spatial tables (`strategy: content`): a row is another version if what it says is another, in one of
  `check_cols`. The column `geometry` is compared as a shape, not by its bytes. A version counts from `updated_at` where that is later than
  all that the history holds of its key. Otherwise, as for a row that has come back or was corrected under its old time, it counts from when
  it was seen: periods of a key never overlap, and no two versions have one id.
#}
{% macro snapshot_content_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
    {%- set updated_at = config.get('updated_at') -%}
    {%- set checked = config.get('check_cols') -%}
    {%- if not updated_at or not checked or checked is string -%}
        {{ exceptions.raise_compiler_error(
            'snapshot ' ~ node.name ~ ': the strategy content needs updated_at, and check_cols as a list of columns'
        ) }}
    {%- endif -%}
    {%- set hard_deletes = adapter.get_hard_deletes_behavior(config) -%}
    {%- set counts_from = '_counts_from' if target_exists else 'coalesce(' ~ updated_at ~ ', ' ~ snapshot_get_time() ~ ')' -%}
    {{ return({
        'unique_key': config.get('unique_key'),
        'updated_at': counts_from,
        'row_changed': _content_changed_sql(snapshotted_rel, current_rel, checked),
        'scd_id': snapshot_hash_arguments(api.Relation.scd_args(config.get('unique_key'), counts_from)),
        'invalidate_hard_deletes': hard_deletes == 'invalidate',
        'hard_deletes': hard_deletes,
    }) }}
{% endmacro %}


{% macro _content_changed_sql(old, new, checked) -%}
    (
        {%- for column in checked %}
        {{ 'or ' if not loop.first }}
        {%- if column == 'geometry' -%}
        shape_change({{ old }}.geometry, {{ new }}.geometry, 0.0D) <> 'same'
        {%- else -%}
        not ({{ old }}.`{{ column }}` <=> {{ new }}.`{{ column }}`)
        {%- endif -%}
        {%- endfor %}
    )
{%- endmacro %}


{# dbt's own, over rows that know from when they would count. #}
{% macro sedona__snapshot_staging_table(strategy, source_sql, target_relation) %}
    {%- if config.get('strategy') != 'content' -%}
        {{ return(default__snapshot_staging_table(strategy, source_sql, target_relation)) }}
    {%- endif -%}
    select * except (_counts_from) from (
        {{ default__snapshot_staging_table(strategy, _with_start_sql(strategy, source_sql, target_relation), target_relation) }}
    )
{% endmacro %}


{% macro _with_start_sql(strategy, source_sql, target_relation) -%}
    {%- set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
    {%- set keys = [strategy.unique_key] if strategy.unique_key is string else strategy.unique_key -%}
    {%- set until = columns.dbt_valid_to -%}
    {%- if config.get('dbt_valid_to_current') -%}
        {%- set until = 'nullif(' ~ until ~ ', ' ~ config.get('dbt_valid_to_current') ~ ')' -%}
    {%- endif -%}
    {%- set updated_at = 'present.' ~ config.get('updated_at') -%}
    select
        present.*,
        case
            when {{ updated_at }} > kept.last_moment or kept.last_moment is null and {{ updated_at }} is not null
                then {{ updated_at }}
            when true then greatest({{ snapshot_get_time() }}, kept.last_moment + interval 1 microsecond)
        end as _counts_from
    from (
        {{ source_sql }}
    ) as present
    left join (
        select
            {% for key in keys %}{{ key }} as _key_{{ loop.index }}, {% endfor -%}
            max(greatest({{ columns.dbt_valid_from }}, {{ until }})) as last_moment
        from {{ target_relation }}
        group by {{ keys | join(', ') }}
    ) as kept
        on {% for key in keys %}present.{{ key }} = kept._key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
{%- endmacro %}
