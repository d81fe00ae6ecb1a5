{#
  How a model's table differs between two versions or times: one row a key that was added, removed, moved, reshaped, or
  whose attributes changed, with its geometry before and after. Columns that begin with `_` and those that follow from the
  geometry are not compared.
#}
{% macro diff(name, before, after, key=none, geometry='geometry', ignore=[], tolerance=1e-9) %}
    {%- set relation = ref(name) -%}
    {%- if tolerance is not number or tolerance < 0 -%}
        {{ exceptions.raise_compiler_error('diff: tolerance must be 0 or more degrees, got ' ~ tolerance) }}
    {%- endif -%}
    {%- if not execute or relation.is_cte -%}
        {{ return(relation) }}
    {%- endif -%}
    {%- set keys = _diff_keys(name, key) -%}
    {%- set versions = [_find_version('diff', relation, before), _find_version('diff', relation, after)] -%}
    {%- set columns = {} -%}
    {%- for version in versions -%}
        {%- for column, type in version.columns -%}
            {%- do columns.update({column: type}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for column in keys + ignore if column not in columns -%}
        {{ exceptions.raise_compiler_error('diff: ' ~ relation ~ ' has no column ' ~ column ~ '; there are ' ~ columns | join(', ')) }}
    {%- endfor -%}
    {%- set place = geometry if geometry in columns else none -%}
    {%- set compared = _compared_columns(columns, keys, place, ignore) -%}
    {{ return(_classified_sql(_versions_sql(relation, versions, keys, compared, columns, place), keys, compared, place, tolerance)) }}
{% endmacro %}


{% macro _diff_keys(name, key) %}
    {%- set found = [key, var('entities', {}).get(name, {}).get('key')] -%}
    {%- for node in graph.nodes.values() if node.name == name and node.resource_type in ['model', 'snapshot'] -%}
        {%- do found.append(node.config.get('unique_key')) -%}
    {%- endfor -%}
    {%- set given = found | select | list -%}
    {%- if not given -%}
        {{ exceptions.raise_compiler_error("diff: which column tells the rows of " ~ name ~ " apart? Say key='...'") }}
    {%- endif -%}
    {{ return([given[0]] if given[0] is string else given[0] | list) }}
{% endmacro %}


{# Names of the attributes: not the key, the geometry, what follows from it, provenance or what is to be ignored. #}
{% macro _compared_columns(columns, keys, geometry, ignore) %}
    {%- set found = [] -%}
    {%- for column in columns if column not in keys + ignore + [geometry, 'bbox', 'h3'] and not column.startswith('_') -%}
        {%- do found.append(column) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# One row a key: the key, and what it was `before` and `after`. #}
{% macro _versions_sql(relation, versions, keys, compared, columns, geometry) -%}
    (
        select
            {%- for key in keys %}
            coalesce(old.`{{ key }}`, new.`{{ key }}`) as `{{ key }}`,
            {%- endfor %}
            old.content as before,
            new.content as after
        from {{ _contents_sql(relation, versions[0], keys, compared, columns, geometry) }} as old
        full outer join {{ _contents_sql(relation, versions[1], keys, compared, columns, geometry) }} as new
            on {% for key in keys %}{{ 'and ' if not loop.first }}old.`{{ key }}` <=> new.`{{ key }}` {% endfor %}
    )
{%- endmacro %}


{# A column that the other version has, and this one lacks, is null here. #}
{% macro _contents_sql(relation, version, keys, compared, columns, geometry) -%}
    {%- set present = version.columns | map('first') | list -%}
    {%- set given = {} -%}
    {%- for column in columns -%}
        {%- do given.update({column: '`' ~ column ~ '`' if column in present else 'cast(null as ' ~ columns[column] ~ ')'}) -%}
    {%- endfor -%}
    (
        select
            {%- for key in keys %}
            {{ given[key] }} as `{{ key }}`,
            {%- endfor %}
            {{ _content_sql(given, compared, columns, geometry) }} as content
        from {{ _as_of_sql(relation, version.version) }}
    )
{%- endmacro %}
