{#
  What has changed in an entity's silver table since this model last ran: one row per key and commit, with what it was and what
  it became. A first run goes as far back as the log. A commit is never told twice, also where the table was made anew.
#}
{% macro audited_changes(entity) %}
    {%- set key = entity_facts(entity).key -%}
    {%- set relation = ref(entity) -%}
    {%- set types = {key: 'string', 'geometry': 'binary'} -%}
    {%- set commits = [] -%}
    {%- set feed = _as_inserts_sql(relation, 'null') -%}
    {%- if execute and relation.is_cte -%}
        {%- do adapter.note_change(relation.identifier, true) -%}
    {%- elif execute -%}
        {%- do _check_feed('audited_changes', relation) -%}
        {%- set read = adapter.read_input(this if is_incremental() else none, relation) -%}
        {%- for column in adapter.get_columns_in_relation(relation) -%}
            {%- do types.update({column.name: column.dtype}) -%}
        {%- endfor -%}
        {%- if not read.has_changed -%}
            {%- set feed = _no_changes_sql(relation) -%}
        {%- else -%}
            {%- set facts = adapter.call_python(
                'feed_facts', table=relation.render(), first=read.last + 1 if read.last is not none else none, last=read.version
            ) -%}
            {%- do commits.extend(facts.commits) -%}
            {%- set feed = _kept_feed_sql(relation, facts.first, read.version, commits) -%}
            {%- if is_incremental() and read.last is none -%}
                {%- set feed = _untold_sql(feed, entity) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(_audited_sql(entity, key, types, feed, commits)) }}
{% endmacro %}


{# What a commit of `forget` took away for good is not kept here either. #}
{% macro _kept_feed_sql(relation, first, last, commits) -%}
    {%- set forgetting = commits | selectattr('is_forgetting') | map(attribute='version') | join(', ') -%}
    {%- if first > last -%}
        {{ _no_changes_sql(relation) }}
    {%- elif forgetting -%}
        (select * from {{ _feed_sql(relation, first, last) }} where _commit_version not in ({{ forgetting }}))
    {%- else -%}
        {{ _feed_sql(relation, first, last) }}
    {%- endif -%}
{%- endmacro %}


{# By time as well: a table that was dropped and made again counts its versions from 0. #}
{% macro _untold_sql(feed, entity) -%}
    (
        select feed.* from {{ feed }} as feed
        left anti join {{ this }} as told
            on told.entity = '{{ entity }}'
            and feed._commit_version = told.commit_version
            and feed._commit_timestamp = told.committed_at
    )
{%- endmacro %}


{% macro _audited_sql(entity, key, types, feed, commits) -%}
    {%- set compared = _compared_columns(types, [key], 'geometry', []) -%}
    {%- set given = {} -%}
    {%- for column in types -%}
        {%- do given.update({column: '`' ~ column ~ '`'}) -%}
    {%- endfor -%}
    {%- set content = _content_sql(given, compared, types, 'geometry') -%}
    {%- set batch = '_batch_id' if '_batch_id' in types else 'cast(null as string)' -%}
    {%- set rows -%}
    (
        select
            cast(`{{ key }}` as string) as entity_key,
            _commit_version as commit_version,
            _commit_timestamp as committed_at,
            first(case when _change_type in ('insert', 'update_postimage') then {{ batch }} end, true) as landed_by_run,
            first(case when _change_type in ('delete', 'update_preimage') then {{ content }} end, true) as before,
            first(case when _change_type in ('insert', 'update_postimage') then {{ content }} end, true) as after
        from {{ feed }}
        group by `{{ key }}`, _commit_version, _commit_timestamp
    )
    {%- endset -%}
    select
        '{{ entity }}' as entity,
        changed.entity_key,
        changed.kind,
        changed.changed_columns,
        changed.attributes_before,
        changed.attributes_after,
        commits.operation,
        commits.written_by,
        commits.user_name,
        commits.reason,
        coalesce(commits.run_id, changed.landed_by_run) as run_id,
        changed.commit_version,
        changed.geometry_before,
        changed.geometry_after,
        changed.committed_at
    from {{ _classified_sql(rows, ['entity_key', 'commit_version', 'committed_at', 'landed_by_run'], compared, 'geometry', 1e-9, is_exact=true) }} as changed
    left join {{ _commits_sql(commits) }} as commits
        on changed.commit_version = commits.version
{%- endmacro %}


{% macro _commits_sql(commits) -%}
    (
        select
            cast(version as bigint) as version,
            cast(operation as string) as operation,
            cast(written_by as string) as written_by,
            cast(user_name as string) as user_name,
            cast(reason as string) as reason,
            cast(run_id as string) as run_id
        from values
            {%- for commit in commits %}
            ({{ commit.version }}, {% for name in ['operation', 'engine', 'user', 'reason', 'run'] %}{{ _text_sql(commit[name]) }}{{ ', ' if not loop.last }}{% endfor %}),
            {%- endfor %}
            (null, null, null, null, null, null) as commits (version, operation, written_by, user_name, reason, run_id)
    )
{%- endmacro %}


{% macro _text_sql(value) -%}
    {{ 'null' if value is none else adapter.quote_text(value) }}
{%- endmacro %}
