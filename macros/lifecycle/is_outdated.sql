{#
  For the ledger: whether a later version of the row's file could be read, or a later snapshot. It says the same as
  `newest_versions` in other words, so that the two check each other.
#}
{% macro is_outdated(facts) -%}
    {{ _has_later('_source_file', '_source_mtime') }}
    {%- if facts.delivery == 'snapshot' %}
        or {{ _has_later("'all files'", facts.snapshot_by) }}
    {%- endif %}
{%- endmacro %}


{% macro _has_later(unit, version) -%}
    coalesce({{ version }} < max(
        case when not array_contains(failed_expectations, 'file_accepted') then {{ version }} end
    ) over (partition by {{ unit }}), false)
{%- endmacro %}
