{#
  A strategy for snapshots of spatial tables (`strategy: content`): a later row is another version only if what it says is another,
  in one of `check_cols`. The column `geometry` is compared as a shape, not by its bytes. Versions count from `updated_at`.
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
    {%- set valid_from = (config.get('snapshot_table_column_names') or get_snapshot_table_column_names()).dbt_valid_from -%}
    {{ return({
        'unique_key': config.get('unique_key'),
        'updated_at': updated_at,
        'row_changed': _content_changed_sql(snapshotted_rel, current_rel, valid_from, updated_at, checked),
        'scd_id': snapshot_hash_arguments(api.Relation.scd_args(config.get('unique_key'), updated_at)),
        'invalidate_hard_deletes': hard_deletes == 'invalidate',
        'hard_deletes': hard_deletes,
    }) }}
{% endmacro %}


{% macro _content_changed_sql(old, new, valid_from, updated_at, checked) -%}
    (
        {{ old }}.{{ valid_from }} < {{ new }}.{{ updated_at }}
        and (
            {%- for column in checked %}
            {{ 'or ' if not loop.first }}
            {%- if column == 'geometry' -%}
            shape_change({{ old }}.geometry, {{ new }}.geometry, 0.0D) <> 'same'
            {%- else -%}
            not ({{ old }}.`{{ column }}` <=> {{ new }}.`{{ column }}`)
            {%- endif -%}
            {%- endfor %}
        )
    )
{%- endmacro %}
