{#
  For the ledger: whether a later delivery of the row's file could be read, or a later snapshot. It says the same as
  `newest_versions` in other words, so that the two check each other.
#}
{% macro is_outdated(facts, checked) -%}
    coalesce(_delivery < max(
        case when not array_contains(failed_expectations, 'file_accepted') then _delivery end
    ) over (partition by _source_file), false)
    {%- if facts.delivery == 'snapshot' %}
        or coalesce({{ facts.snapshot_by }} < (
            select max(latest.version)
            from (
                select max(struct(_delivery, {{ facts.snapshot_by }} as version)).version
                from {{ checked }}
                where not array_contains(failed_expectations, 'file_accepted')
                group by _source_file
            ) as latest (version)
        ), false)
    {%- endif %}
{%- endmacro %}
